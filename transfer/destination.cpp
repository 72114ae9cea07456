// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/destination.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <memory>

#include <fmt/format.h>

namespace bento::transfer {
namespace {

constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
constexpr int kOnTheWay = O_PATH | O_DIRECTORY | O_CLOEXEC;

Result<std::vector<std::string>> components(const std::string& path) {
  if (path.empty() || path.front() != '/')
    return fail(Code::kInvalidArgument, fmt::format("'{}' is no absolute path", path));
  std::vector<std::string> names;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    std::string name = path.substr(at, end - at);
    at = end + 1;
    if (name.empty() || name == ".") continue;
    if (name == "..")
      return fail(Code::kInvalidArgument, fmt::format("'{}': '..' is not accepted", path));
    names.push_back(std::move(name));
  }
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  std::string path;
  for (const auto& name : names) path += "/" + name;
  return path;
}

/// openat2 with RESOLVE_BENEATH. Where the kernel has none: component by component, no links.
int open_beneath(int root, const std::vector<std::string>& names, std::size_t count, int flags) {
  std::string relative = ".";
  for (std::size_t i = 0; i < count; ++i) relative += "/" + names[i];
  open_how how{};
  how.flags = static_cast<decltype(how.flags)>(flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  long fd = -1;
  do {
    fd = ::syscall(SYS_openat2, root, relative.c_str(), &how, sizeof how);
  } while (fd < 0 && (errno == EINTR || errno == EAGAIN));
  if (fd >= 0 || errno != ENOSYS) return static_cast<int>(fd);
  Descriptor at(::openat(root, ".", count == 0 ? flags : kOnTheWay));
  for (std::size_t i = 0; i < count && at; ++i)
    at = Descriptor(
        ::openat(at.get(), names[i].c_str(), (i + 1 == count ? flags : kOnTheWay) | O_NOFOLLOW));
  return at ? ::dup(at.get()) : -1;
}

/// A new name must be on the device before what lies below it is relied on.
void sync_names(int folder) {
  const Descriptor readable(::openat(folder, ".", kFolder));
  if (readable) ::fsync(readable.get());
}

Status cannot_open(const std::string& folder) {
  const int problem = errno;
  if (problem == EXDEV || problem == ELOOP)
    return fail(Code::kPermission,
                fmt::format("destination '{}': a symbolic link leads out of the folders that the "
                            "daemon may write to",
                            folder),
                problem);
  return fail(os_error(problem, "open of the destination", folder));
}

using Opener = std::function<int(const std::vector<std::string>&, std::size_t, int)>;

Result<Descriptor> open_or_make(const std::string& shown, const std::vector<std::string>& names,
                                const Opener& open) {
  Descriptor whole(open(names, names.size(), kFolder));
  if (whole) return whole;
  for (std::size_t i = 0; errno == ENOENT && i < names.size(); ++i) {
    if (const Descriptor there(open(names, i + 1, kOnTheWay)); there || errno != ENOENT) {
      if (!there) break;
      errno = ENOENT;
      continue;
    }
    const Descriptor parent(open(names, i, kOnTheWay));
    if (!parent) break;
    if (::mkdirat(parent.get(), names[i].c_str(), 0777) != 0 && errno != EEXIST)
      return fail(os_error(errno, "making the folder", shown));
    sync_names(parent.get());
    errno = ENOENT;
  }
  whole = Descriptor(open(names, names.size(), kFolder));
  if (!whole) {
    BENTO_TRY(cannot_open(shown));
  }
  return whole;
}

struct Free {
  void operator()(char* text) const { std::free(text); }
};

}  // namespace

Result<AllowedFolders> AllowedFolders::below(const std::vector<std::string>& folders) {
  AllowedFolders allowed;
  for (const auto& folder : folders) {
    BENTO_ASSIGN(const auto names, components(folder));
    std::vector<std::string> paths{joined(names)};
    const std::unique_ptr<char, Free> real(::realpath(folder.c_str(), nullptr));
    if (!real) return fail(os_error(errno, "looking for the allowed folder", folder));
    BENTO_ASSIGN(const auto real_names, components(real.get()));
    if (real_names != names) paths.push_back(joined(real_names));
    for (auto& path : paths) {
      BENTO_ASSIGN(Descriptor opened, open_at(AT_FDCWD, real.get(), kOnTheWay, 0, folder));
      allowed.roots_.push_back({std::move(path), std::move(opened)});
    }
  }
  return allowed;
}

Result<Descriptor> AllowedFolders::open(const std::string& folder) const {
  BENTO_ASSIGN(const auto names, components(folder));
  if (roots_.empty()) {
    return open_or_make(folder, names, [](const auto& all, std::size_t count, int flags) {
      const std::vector<std::string> first(all.begin(),
                                           all.begin() + static_cast<std::ptrdiff_t>(count));
      return ::open(("/" + joined(first)).c_str(), flags);
    });
  }
  const std::string path = joined(names);
  for (const auto& root : roots_) {
    if (path != root.path && !path.starts_with(root.path + "/")) continue;
    BENTO_ASSIGN(const auto rest, components(path.substr(root.path.size()) + "/"));
    return open_or_make(folder, rest, [&](const auto& all, std::size_t count, int flags) {
      return open_beneath(root.folder.get(), all, count, flags);
    });
  }
  std::string known;
  for (const auto& root : roots_) known += (known.empty() ? "" : ", ") + root.path;
  return fail(Code::kPermission,
              fmt::format("destination '{}' does not lie below a folder that the daemon may write "
                          "to ({})",
                          folder, known),
              EACCES);
}

}  // namespace bento::transfer
