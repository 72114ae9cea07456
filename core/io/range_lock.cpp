// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/io/range_lock.hpp"

#include <cerrno>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bento {

namespace {

struct flock range(short kind, std::int64_t at, std::int64_t bytes) {
  struct flock lock{};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  lock.l_start = at;
  lock.l_len = bytes;
  return lock;
}

template <class Call>
int errno_of(const Call& call) {
  int status = 0;
  do {
    status = call();
  } while (status != 0 && errno == EINTR);
  return status == 0 ? 0 : errno;
}

}  // namespace

int set_range_lock(int descriptor, short kind, std::int64_t at, std::int64_t bytes) {
  return errno_of([&] {
    struct flock lock = range(kind, at, bytes);
    return ::fcntl(descriptor, F_OFD_SETLK, &lock);
  });
}

int ask_range_lock(int descriptor, std::int64_t at, std::int64_t bytes, bool& held) {
  struct flock lock{};
  const int problem = errno_of([&] {
    lock = range(F_WRLCK, at, bytes);
    return ::fcntl(descriptor, F_OFD_GETLK, &lock);
  });
  held = problem == 0 && lock.l_type != F_UNLCK;
  return problem;
}

int set_flock(int descriptor, int kind) {
  return errno_of([&] { return ::flock(descriptor, kind | LOCK_NB); });
}

bool says_held(int os_errno) {
  return os_errno == EWOULDBLOCK || os_errno == EAGAIN || os_errno == EACCES;
}

Result<PrivateDescriptor> open_again(const File& file, int flags) {
  const std::string by_descriptor = fmt::format("/proc/self/fd/{}", file.descriptor());
  const auto open = [flags](const std::string& name) {
    return PrivateDescriptor([&] { return ::open(name.c_str(), flags | O_CLOEXEC | O_NOCTTY); });
  };
  PrivateDescriptor own = open(by_descriptor);
  if (own.get() < 0) own = open(file.path());
  if (own.get() < 0) return fail(os_error(errno, "open for locking of", file.path()));
  struct stat ours{};
  struct stat theirs{};
  if (::fstat(own.get(), &ours) != 0 || ::fstat(file.descriptor(), &theirs) != 0)
    return fail(os_error(errno, "fstat of", file.path()));
  if (ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino)
    return fail(Code::kBusy,
                fmt::format("'{}' was replaced by another file while it was opened; try again",
                            file.path()));
  return own;
}

}  // namespace bento
