// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What --force must not destroy: files of a container of several, and what a program is writing.
#pragma once

#include <sys/stat.h>

#include <string>

#include "core/base/error.hpp"

namespace bento::tools {

class ReplacedFile {
 public:
  /// May the file of this name be replaced by what is made of the container, or other file,
  /// `source`? Nothing there is fine. Errors: kExists (it is a physical file of the source; it is
  /// one of a container of several files), kBusy (a program has it open for writing), kPermission,
  /// kIo.
  static Result<ReplacedFile> look(const std::string& path, const std::string& source);
  /// Asked right before it is replaced. Errors: kBusy (a program has it open for writing; it was
  /// written, removed or put there since look()).
  [[nodiscard]] Status check_unchanged() const;

 private:
  std::string path_;
  bool there_ = false;
  struct stat state_{};
};

}  // namespace bento::tools
