// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A file that appears under its name when it is whole, and leaves nothing behind if that never
/// comes: not even after a kill, where the file system knows files without a name (O_TMPFILE).
#pragma once

#include <memory>
#include <string>

#include "core/base/error.hpp"
#include "core/io/file.hpp"

namespace bento {

/// The hidden name, beside it, of what will be called `path`; `which` tells several apart. It is no
/// longer than file systems take, however long the file's own name is.
std::string unfinished_name(const std::string& path, const std::string& which);

class NewFile {
 public:
  /// Begins a file that will be called `path`. Errors: kExists (there is one, and `replace` is
  /// not set; or it is a folder or a device), kNotFound (its folder), kPermission, kNoSpace, kIo,
  /// kInvalidArgument (no name).
  static Result<std::unique_ptr<NewFile>> create(const std::string& path, bool replace);
  ~NewFile();  ///< What was not published goes.
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  /// Errors of it name the path that the file will have.
  [[nodiscard]] File& file() { return *file_; }
  /// Syncs it, which may take long: what is asked about its name is asked after that. Nothing is
  /// written to it any more. Errors: kNoSpace, kIo.
  Status complete();
  /// Gives it its name, after complete(), and syncs the folder. Errors: kExists (somebody was
  /// faster), kNoSpace, kIo; and those of complete() if that was not called.
  Status publish();

 private:
  NewFile(std::string path, bool replace) : path_(std::move(path)), replace_(replace) {}
  [[nodiscard]] std::string hidden_name(unsigned number) const;
  Status link();

  std::string path_;
  bool replace_;
  std::string hidden_;  ///< its name so far; empty: it has none
  bool complete_ = false;
  std::unique_ptr<File> file_;
};

}  // namespace bento
