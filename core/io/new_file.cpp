// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/io/new_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include <fmt/format.h>

#include "core/io/permissions.hpp"
#include "core/io/posix_file.hpp"

namespace bento {

namespace {

constexpr unsigned kTries = 100;

std::string folder_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

tl::unexpected<Error> is_there(const std::string& path) {
  return fail(Code::kExists, fmt::format("'{}' is there already", path));
}

}  // namespace

// Beside the file, so that it can be renamed; hidden, as something that nobody should pick up.
std::string unfinished_name(const std::string& path, const std::string& which) {
  constexpr std::size_t kMostOfName = 200;  // of the 255 bytes that file systems take
  const std::size_t begin = path.find_last_of('/') + 1;
  return fmt::format("{}.{}.{}.unfinished", path.substr(0, begin), path.substr(begin, kMostOfName),
                     which);
}

std::string NewFile::hidden_name(unsigned number) const {
  return unfinished_name(path_, fmt::format("{}-{}", ::getpid(), number));
}

Result<std::unique_ptr<NewFile>> NewFile::create(const std::string& path, bool replace) {
  if (path.empty() || path.back() == '/')
    return fail(Code::kInvalidArgument, fmt::format("'{}' is no name for a new file", path));
  struct stat about{};
  mode_t permissions = 0666;
  if (::lstat(path.c_str(), &about) == 0) {
    if (S_ISREG(about.st_mode)) permissions = 0600;  // until it is as that one is
    if (S_ISDIR(about.st_mode)) return fail(os_error(EISDIR, "a new file cannot be called", path));
    if (!replace) return is_there(path);
    // Of a device, somebody would miss the name.
    if (!S_ISREG(about.st_mode) && !S_ISLNK(about.st_mode))
      return fail(Code::kExists, fmt::format("'{}' is there, and is no file", path));
  }
  std::unique_ptr<NewFile> made(new NewFile(path, replace));
  int fd = ::open(folder_of(path).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, permissions);
  // What else open() may say of a file system that has no such files, the second way will say, too.
  for (unsigned number = 0; fd < 0 && number < kTries; ++number) {
    made->hidden_ = made->hidden_name(number);
    fd = ::open(made->hidden_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, permissions);
    if (fd < 0 && errno != EEXIST) break;
  }
  if (fd < 0) {
    const int error = errno;
    made->hidden_.clear();
    return fail(os_error(error, "creation of", path));
  }
  if (replace) take_permissions_of(path, fd);
  made->file_ = take_descriptor(path, fd);
  return made;
}

NewFile::~NewFile() {
  if (file_ && !hidden_.empty()) (void)std::remove(hidden_.c_str());
}

// A link can be made to a file without a name, but never over one that is there.
Status NewFile::link() {
  const std::string self = fmt::format("/proc/self/fd/{}", file_->descriptor());
  const auto link_to = [&self](const std::string& name) {
    return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  };
  if (!replace_) {
    if (link_to(path_)) return {};
    if (errno == EEXIST) return is_there(path_);
    return fail(os_error(errno, "naming of", path_));
  }
  for (unsigned number = 0; number < kTries; ++number) {
    hidden_ = hidden_name(number);
    if (link_to(hidden_)) return {};
    const int error = errno;
    hidden_.clear();
    if (error != EEXIST) return fail(os_error(error, "naming of", path_));
  }
  return fail(os_error(EEXIST, "naming of", path_));
}

Status NewFile::complete() {
  BENTO_TRY(file_->sync());
  complete_ = true;
  return {};
}

Status NewFile::publish() {
  if (!complete_) BENTO_TRY(complete());
  const bool nameless = hidden_.empty();
  if (nameless) BENTO_TRY(link());
  if (!hidden_.empty()) {
    // Without `replace`, a name that has come meanwhile stays.
    const int renamed = replace_ ? std::rename(hidden_.c_str(), path_.c_str())
                                 : ::link(hidden_.c_str(), path_.c_str());
    if (renamed != 0 && errno == EEXIST) return is_there(path_);
    if (renamed != 0) return fail(os_error(errno, "naming of", path_));
    if (!replace_) (void)std::remove(hidden_.c_str());
    hidden_.clear();
  }
  BENTO_TRY(file_->close());
  file_.reset();
  BENTO_ASSIGN(const auto folder, open_posix_file(folder_of(path_), OpenMode::kDirectory));
  return folder->sync();
}

}  // namespace bento
