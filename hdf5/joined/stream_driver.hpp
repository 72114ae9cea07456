// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Opens the HDF5 files that the streams of a joined container are, for reading, while nobody
/// writes and the caller holds the gate: the file driver itself would wait for it.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/base/error.hpp"
#include "core/joined/joined_files.hpp"
#include "hdf5/base/handle.hpp"

namespace bento::vol {

/// All streams by name.
class StreamSet {
 public:
  /// `files` must outlive it, and all files opened from it. Errors: kCorrupt, kIo.
  static Result<std::shared_ptr<StreamSet>> of(JoinedFiles& files);

  [[nodiscard]] JoinedFiles& files() const { return *files_; }
  [[nodiscard]] const std::map<std::string, Slot>& by_name() const { return by_name_; }
  /// The stream that a name means that a program would open; null if there is none.
  [[nodiscard]] const Slot* find(const std::string& file) const;
  /// The name by which a program in any folder would open a stream.
  [[nodiscard]] std::string path_of(const Slot& slot) const;

 private:
  explicit StreamSet(JoinedFiles& files) : files_(&files) {}
  JoinedFiles* files_;
  std::map<std::string, Slot> by_name_;
};

/// The HDF5 file that a stream is; other streams are found from it as a program would find the
/// files beside it. Errors: kCorrupt and kInternal, with what the library says of it.
Result<FileHandle> open_stream_file(const std::shared_ptr<StreamSet>& set, const Slot& slot);

/// Forgets the driver's id; called when connector or driver terminates.
void stream_driver_forget();

}  // namespace bento::vol
