// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/io/permissions.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bento {

namespace {

constexpr auto kUnchanged = static_cast<uid_t>(-1);

void give(const struct stat& wanted, int to) {
  struct stat now{};
  if (::fstat(to, &now) != 0) return;
  mode_t mode = wanted.st_mode & 07777;
  // Owner and group each by itself: to a group of his own anybody can give what is his. Before the
  // mode, of which a change of owner takes set-user-id away.
  if (now.st_gid != wanted.st_gid && ::fchown(to, kUnchanged, wanted.st_gid) != 0)
    mode &= ~static_cast<mode_t>(S_IRWXG | S_ISGID);
  if (now.st_uid != wanted.st_uid && ::fchown(to, wanted.st_uid, kUnchanged) != 0)
    mode &= ~static_cast<mode_t>(S_ISUID);
  if ((now.st_mode & 07777) != mode) (void)::fchmod(to, mode);
}

}  // namespace

void take_permissions(int from, int to) {
  struct stat wanted{};
  if (::fstat(from, &wanted) == 0) give(wanted, to);
}

void take_permissions_of(const std::string& path, int to) {
  take_permissions_of(AT_FDCWD, path, to);
}

void take_permissions_of(int folder, const std::string& name, int to) {
  struct stat wanted{};
  if (::fstatat(folder, name.c_str(), &wanted, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(wanted.st_mode))
    give(wanted, to);
}

}  // namespace bento
