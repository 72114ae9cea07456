// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Where the daemon may write. A transfer file is written by others, so a destination is believed
/// only if its folder lies below one that the daemon was given, symbolic links followed: the kernel
/// looks for us (openat2 with RESOLVE_BENEATH), and everything after that happens relative to the
/// open folder.
#pragma once

#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "transfer/descriptor.hpp"

namespace bento::transfer {

class AllowedFolders {
 public:
  /// Anywhere the user may write.
  AllowedFolders() = default;
  /// Only at and below these folders, which must exist. Errors: kNotFound, kPermission,
  /// kInvalidArgument (not absolute, no folder).
  static Result<AllowedFolders> below(const std::vector<std::string>& folders);

  /// Opens a folder, given by its absolute path; missing ones are made (mode by umask). Errors:
  /// kPermission (not below an allowed folder, or a symbolic link leads out of it),
  /// kInvalidArgument (not absolute, a component "..", too long), kNotFound, kNoSpace, kIo.
  [[nodiscard]] Result<Descriptor> open(const std::string& folder) const;

 private:
  struct Root {
    std::string path;  ///< as given, or as links lead; without a slash at the end
    Descriptor folder;
  };
  std::vector<Root> roots_;
};

}  // namespace bento::transfer
