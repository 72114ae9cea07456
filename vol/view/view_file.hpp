// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The HDF5 file that a native view is, while the library writes it: metadata gathers in memory at
/// addresses in fresh catalogue space, and a dataset's raw data can be *adopted*: its storage is
/// said to be where a rank's record already lies, and what the library writes there is dropped.
/// Source: design of docs/format.md, "Native view".
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/container/native_view.hpp"

namespace bento::vol {

/// One physical file's view under construction. Used by one H5Fcreate; not thread-safe.
class ViewFile {
 public:
  explicit ViewFile(ViewSpace& space) : space_(&space) {}

  /// The next raw-data allocation of exactly `bytes` gets `address`.
  void adopt_next(std::uint64_t address, std::uint64_t bytes);
  /// Was the last adopt_next() used? Asked after the dataset was created.
  [[nodiscard]] bool adopted() const { return next_bytes_ == 0; }

  /// Writes what gathered in memory into the file, after H5Fclose. Errors: kIo, kNoSpace.
  Status store();
  [[nodiscard]] const Superblock& superblock() const { return superblock_; }
  /// Address of the superblock: the file's user block ends there.
  [[nodiscard]] std::uint64_t base() const { return space_->plan().superblock_address(); }

  // What the driver does, by absolute address.
  Result<std::uint64_t> allocate(H5FD_mem_t type, std::uint64_t bytes);
  Status read(std::uint64_t address, std::span<std::byte> into);
  Status write(std::uint64_t address, std::span<const std::byte> from);

  /// The error that a callback met; the library keeps only its text.
  Status failure;
  /// Has the library set the end of its address space? Before, the file must look new.
  bool begun = false;

 private:
  /// Allocated bytes side by side. Large raw data goes straight to the file.
  struct Region {
    std::uint64_t bytes = 0;
    std::vector<std::byte> memory;  ///< empty for raw data written through
  };
  std::map<std::uint64_t, Region>::iterator region_of(std::uint64_t address);

  ViewSpace* space_;
  std::map<std::uint64_t, Region> regions_;              ///< by address
  std::map<std::uint64_t, std::uint64_t> adopted_runs_;  ///< address -> bytes
  std::uint64_t next_address_ = 0;
  std::uint64_t next_bytes_ = 0;
  Superblock superblock_{};
};

/// Makes `fapl` create `file`, which must outlive the HDF5 file. Native connector, low bound 1.8.
herr_t set_fapl_view(hid_t fapl, ViewFile& file);
/// Forgets the driver's id; called when the connector terminates.
void view_driver_forget();

}  // namespace bento::vol
