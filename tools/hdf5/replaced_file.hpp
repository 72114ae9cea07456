// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What --force must not destroy: files of a container of several, and what a program is writing.
/// And what of the old file may be in a cache still, which must not come over the new one.
#pragma once

#include <sys/stat.h>

#include <string>

#include "core/base/error.hpp"

namespace bento::tools {

class ReplacedFile {
 public:
  /// May the file of this name be replaced by what is made of the container, or other file,
  /// `source`? Nothing there is fine; without `force`, a newer state in a cache is not. Errors:
  /// kExists (it is a physical file of the source; it is one of a container of several files; its
  /// newest state is in a cache), kBusy (a program has it open for writing), kPermission, kIo.
  static Result<ReplacedFile> look(const std::string& path, const std::string& source, bool force);
  /// Asked right before it is replaced. Errors: kBusy (a program has it open for writing; it was
  /// written, removed or put there since look()).
  [[nodiscard]] Status check_unchanged() const;
  /// It has been replaced: what a cache holds of the old one goes. Errors: kBusy (a program writes
  /// to that), kIo.
  [[nodiscard]] Status settle() const;

 private:
  std::string path_;
  bool there_ = false;
  struct stat state_{};
};

}  // namespace bento::tools
