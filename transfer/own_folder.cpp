// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/own_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include <fmt/format.h>

namespace bento::transfer {
namespace {

constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;

bool is_folder(int folder, const std::string& name) {
  struct stat about{};
  return ::fstatat(folder, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISDIR(about.st_mode);
}

}  // namespace

Result<Descriptor> open_own_folder(int parent, const std::string& name, const std::string& shown) {
  const bool made = ::mkdirat(parent, name.c_str(), 0700) == 0;
  if (!made && errno != EEXIST) return fail(os_error(errno, "making the folder", shown));
  BENTO_ASSIGN(Descriptor folder, open_folder(parent, name, shown));
  struct stat about{};
  if (::fstat(folder.get(), &about) != 0) return fail(os_error(errno, "fstat of", shown));
  if (about.st_uid != ::geteuid())
    return fail(Code::kPermission,
                fmt::format("'{}' belongs to user {}, not to this one", shown, about.st_uid),
                EPERM);
  if (made) BENTO_TRY(sync(parent, shown));
  return folder;
}

Result<Descriptor> open_folder(int parent, const std::string& name, const std::string& shown) {
  return open_at(parent, name, kFolder, 0, shown);
}

bool is_there(int folder, const std::string& name) {
  struct stat about{};
  return ::fstatat(folder, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0;
}

Result<std::vector<std::string>> names_in(int folder, const std::string& shown) {
  const int fd = ::openat(folder, ".", kFolder | O_CLOEXEC);
  DIR* const stream = fd >= 0 ? ::fdopendir(fd) : nullptr;
  if (stream == nullptr) {
    const int error = errno;
    if (fd >= 0) ::close(fd);
    return fail(os_error(error, "open of", shown));
  }
  std::vector<std::string> names;
  while (const dirent* const one = ::readdir(stream))
    if (const std::string_view name = one->d_name; name != "." && name != "..")
      names.emplace_back(name);
  ::closedir(stream);
  return names;
}

Status remove_files(int folder, const std::string& shown, const std::string& kept) {
  BENTO_ASSIGN(const auto names, names_in(folder, shown));
  for (const auto& name : names)
    if (name != kept && !is_folder(folder, name) && ::unlinkat(folder, name.c_str(), 0) != 0 &&
        errno != ENOENT)
      return fail(os_error(errno, "removal of", fmt::format("{}/{}", shown, name)));
  return {};
}

}  // namespace bento::transfer
