// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/io/permissions.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/io/file.hpp"

namespace bento {

namespace {

constexpr auto kUnchanged = static_cast<uid_t>(-1);
// Linux, include/uapi/linux/posix_acl_xattr.h and posix_acl.h.
constexpr const char* kList = "system.posix_acl_access";
constexpr std::size_t kEntryBytes = 8;
constexpr std::byte kNamedUser{0x02};
constexpr std::byte kGroupOfFile{0x04};
constexpr std::byte kNamedGroup{0x08};
constexpr std::byte kMask{0x10};

/// The access control list as the kernel stores it; nothing if the file has none but its mode.
std::optional<std::vector<std::byte>> list_of(int open_file) {
  // Of what is open with O_PATH, fgetxattr() says nothing.
  const std::string name = fmt::format("/proc/self/fd/{}", open_file);
  const ssize_t bytes = ::getxattr(name.c_str(), kList, nullptr, 0);
  if (bytes <= 0) return std::nullopt;
  std::vector<std::byte> list(static_cast<std::size_t>(bytes));
  if (::getxattr(name.c_str(), kList, list.data(), list.size()) != bytes) return std::nullopt;
  return list;
}

/// What a list, or a mode without one, gives to the file's group, and what it gives to each of
/// those whom it names, the group among them.
struct Given {
  mode_t group = 0;
  mode_t least = 07;
};

// A number for the version, then entries: tag, permissions, and who. All little-endian.
Given given_by(const std::vector<std::byte>& list) {
  Given given;
  mode_t mask = 07;  // what any of them has at the most
  for (std::size_t at = sizeof(std::uint32_t); at + kEntryBytes <= list.size(); at += kEntryBytes) {
    const std::byte tag = list[at];
    const auto permissions = static_cast<mode_t>(list[at + 2]) & 07;
    if (tag == kGroupOfFile) given.group = permissions;
    if (tag == kGroupOfFile || tag == kNamedUser || tag == kNamedGroup) given.least &= permissions;
    if (tag == kMask) mask = permissions;
  }
  given.group &= mask;
  given.least &= mask;
  return given;
}

/// Owner and group each by itself: to a group of his own anybody can give what is his. Returns
/// whether it has that group now.
bool give_owner(const struct stat& wanted, int to, mode_t& mode) {
  struct stat now{};
  if (::fstat(to, &now) != 0) return false;
  const bool keeps_group =
      now.st_gid == wanted.st_gid || ::fchown(to, kUnchanged, wanted.st_gid) == 0;
  if (!keeps_group) mode &= ~static_cast<mode_t>(S_ISGID);
  if (now.st_uid != wanted.st_uid && ::fchown(to, wanted.st_uid, kUnchanged) != 0)
    mode &= ~static_cast<mode_t>(S_ISUID);
  return keeps_group;
}

void give(const struct stat& wanted, const std::optional<std::vector<std::byte>>& list, int to) {
  mode_t mode = wanted.st_mode & 07777;
  // Before the mode, of which a change of owner takes set-user-id away.
  const bool keeps_group = give_owner(wanted, to, mode);
  const bool keeps_list =
      list && keeps_group && ::fsetxattr(to, kList, list->data(), list->size(), 0) == 0;
  if (!keeps_list) {
    (void)::fremovexattr(to, kList);  // of a folder that gives one to what is made in it
    if (list || !keeps_group) {
      const mode_t group = (wanted.st_mode & S_IRWXG) >> 3;
      const Given given = list ? given_by(*list) : Given{group, group};
      // Whom the list names, and who is in a group that is not kept, is one of all others now.
      mode &= ~static_cast<mode_t>(S_IRWXG | S_IRWXO) | given.least;
      if (keeps_group) mode |= given.group << 3;
    }
  }
  struct stat now{};
  if (::fstat(to, &now) != 0 || (now.st_mode & 07777) != mode) (void)::fchmod(to, mode);
}

}  // namespace

void take_permissions(int from, int to) {
  struct stat wanted{};
  if (::fstat(from, &wanted) == 0) give(wanted, list_of(from), to);
}

void take_permissions_of(const std::string& path, int to) {
  take_permissions_of(AT_FDCWD, path, to);
}

void take_permissions_of(int folder, const std::string& name, int to) {
  // Nothing is read, so that it need not be readable; and nobody waits for a pipe.
  const int from = ::openat(folder, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (from < 0) return;
  struct stat wanted{};
  if (::fstat(from, &wanted) == 0 && S_ISREG(wanted.st_mode)) give(wanted, list_of(from), to);
  ::close(from);
}

Status make_private_file(const std::string& path) {
  BENTO_ASSIGN(const auto made, open_posix_file(path, OpenMode::kCreatePrivate));
  return made->close();
}

}  // namespace bento
