// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/joined/join_locks.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/io/file_lock.hpp"

namespace bento {

namespace {

constexpr std::int64_t kWritersAt = FileLock::kRangeAt;
constexpr std::int64_t kGateAt = kWritersAt + 1;
constexpr std::int64_t kTasksAt = kWritersAt + 2;

struct flock range(short kind, std::int64_t at, std::int64_t bytes) {
  struct flock lock{};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  lock.l_start = at;
  lock.l_len = bytes;
  return lock;
}

/// 0, or the errno of a call that no signal has interrupted.
template <class Call>
int errno_of(const Call& call) {
  int status = 0;
  do {
    status = call();
  } while (status != 0 && errno == EINTR);
  return status == 0 ? 0 : errno;
}

bool says_held(int os_errno) {
  return os_errno == EWOULDBLOCK || os_errno == EAGAIN || os_errno == EACCES;
}

}  // namespace

Result<JoinLocks> JoinLocks::of(const File& file, bool writable) {
  const std::string name = fmt::format("/proc/self/fd/{}", file.descriptor());
  const int flags = (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOCTTY;
  const auto open = [&](const std::string& by) {
    return PrivateDescriptor([&] { return ::open(by.c_str(), flags); });
  };
  PrivateDescriptor own = open(name);
  if (own.get() < 0) own = open(file.path());
  if (own.get() < 0) return fail(os_error(errno, "open for locking of", file.path()));
  struct stat ours{};
  struct stat theirs{};
  if (::fstat(own.get(), &ours) != 0 || ::fstat(file.descriptor(), &theirs) != 0)
    return fail(os_error(errno, "fstat of", file.path()));
  if (ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino)
    return fail(Code::kBusy,
                fmt::format("'{}' was replaced while it was opened; try again", file.path()));
  return JoinLocks(std::move(own), file.path());
}

Error JoinLocks::failed(int os_errno) const {
  Error error = os_error(os_errno, "file lock of", path_);
  error.code = Code::kUnsupported;
  return std::move(error).with_context(
      "processes that share a container without talking to each other need file locks that all of "
      "them see; put the container on a file system that has them");
}

Result<bool> JoinLocks::set(std::int64_t at, Kind kind) {
  const int problem = errno_of([&] {
    struct flock lock = range(kind == Kind::kShared ? F_RDLCK : F_WRLCK, at, 1);
    return ::fcntl(descriptor_.get(), F_OFD_SETLK, &lock);
  });
  if (problem == 0) return true;
  if (says_held(problem)) return false;
  return fail(failed(problem));
}

void JoinLocks::clear(std::int64_t at) {
  (void)errno_of([&] {
    struct flock lock = range(F_UNLCK, at, 1);
    return ::fcntl(descriptor_.get(), F_OFD_SETLK, &lock);
  });
}

Result<bool> JoinLocks::others_hold(std::int64_t at, std::int64_t bytes) const {
  struct flock lock{};
  const int problem = errno_of([&] {
    lock = range(F_WRLCK, at, bytes);
    return ::fcntl(descriptor_.get(), F_OFD_GETLK, &lock);
  });
  if (problem != 0) return fail(failed(problem));
  return lock.l_type != F_UNLCK;
}

// Polled, since a wait in the kernel has no deadline, and a holder may have been stopped.
Status JoinLocks::enter_gate(Kind kind, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  std::chrono::microseconds pause(50);
  for (;;) {
    BENTO_ASSIGN(const bool in, set(kGateAt, kind));
    if (in) return {};
    if (seconds > 0 && Clock::now() - begin > std::chrono::duration<double>(seconds))
      return fail(Code::kBusy,
                  fmt::format("'{}': another process is joining or leaving it for more than {} s "
                              "(timeout=); is it stopped?",
                              path_, seconds));
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(5000));
  }
}

void JoinLocks::leave_gate() {
  clear(kGateAt);
}

Result<bool> JoinLocks::try_writers() {
  return set(kWritersAt, Kind::kShared);
}

void JoinLocks::leave_writers() {
  clear(kWritersAt);
}

Result<bool> JoinLocks::others_write() const {
  return others_hold(kWritersAt, 1);
}

Result<bool> JoinLocks::others_use_tasks(std::uint32_t tasks) const {
  return others_hold(kTasksAt, std::max<std::int64_t>(tasks, 1));
}

Result<bool> JoinLocks::try_task(std::uint32_t task, Kind kind) {
  return set(kTasksAt + task, kind);
}

void JoinLocks::leave_task(std::uint32_t task) {
  clear(kTasksAt + task);
}

Result<bool> JoinLocks::try_flock() {
  const int problem = errno_of([&] { return ::flock(descriptor_.get(), LOCK_SH | LOCK_NB); });
  if (problem == 0) return true;
  if (says_held(problem)) return false;
  return fail(failed(problem));
}

void JoinLocks::leave_flock() {
  (void)errno_of([&] { return ::flock(descriptor_.get(), LOCK_UN); });
}

}  // namespace bento
