// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/file_stamp.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <fmt/format.h>

namespace bento::transfer {

// Without the device: after a restart of the node its number may be another one.
std::string stamp_of(int folder, const std::string& name) {
  struct stat about{};
  if (::fstatat(folder, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(about.st_mode))
    return {};
  return fmt::format("{} {} {}.{:09}", about.st_ino, about.st_size, about.st_mtim.tv_sec,
                     about.st_mtim.tv_nsec);
}

}  // namespace bento::transfer
