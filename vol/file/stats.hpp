// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Counts what became of H5Dwrite and H5Dread calls, so that a run can be shown to have used the
/// connector: a connector that passes everything through gives right results too. Source:
/// docs/usage.md, "Statistics".
#pragma once

#include <cstdint>
#include <string>

namespace bento::vol {

/// Calls of one kind. Bytes are elements times the size of the file type (diverted) or of the
/// memory type.
struct CallCounts {
  std::uint64_t writes = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t reads = 0;
  std::uint64_t bytes_read = 0;
};

/// Counts of this process. Not thread-safe, like the library it serves.
struct Stats {
  CallCounts diverted;        ///< in ranks' streams
  CallCounts skeleton;        ///< in a container's skeleton (variable-length, external)
  CallCounts passed_through;  ///< ordinary files
  /// Of diverted datasets with elements of fixed size, by HDF5's conversion between the types in
  /// memory and in the file.
  std::uint64_t elements_converted = 0;
  /// Container::unordered_overlaps() of all files that were written; on rank 0 of each.
  std::uint64_t unordered_overlaps = 0;

  static Stats& get();
  void note_file(const std::string& path, bool container);
  /// How a container's files are spread over servers, as far as that is known and was asked for; 0:
  /// not. Counts only if the file was noted.
  void note_striping(const std::string& path, std::uint64_t servers, std::uint64_t bytes);
  /// Will they be written?
  [[nodiscard]] bool wanted() const;
  /// The file to write at exit; the last non-empty path wins. Empty: no statistics.
  void set_output(const std::string& path);
  /// Appends one line of JSON to the output in a single write. Called once, when the connector
  /// terminates.
  void write_out() const;
};

}  // namespace bento::vol
