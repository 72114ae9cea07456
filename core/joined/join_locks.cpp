// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/joined/join_locks.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include "core/io/file_lock.hpp"
#include "core/io/range_lock.hpp"

namespace bento {

namespace {

constexpr std::int64_t kWritersAt = FileLock::kRangeAt;
constexpr std::int64_t kGateAt = kWritersAt + 1;
constexpr std::int64_t kTasksAt = kWritersAt + 2;

}  // namespace

Result<JoinLocks> JoinLocks::of(const File& file, bool writable) {
  BENTO_ASSIGN(PrivateDescriptor own, open_again(file, writable ? O_RDWR : O_RDONLY));
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
  const int problem =
      set_range_lock(descriptor_.get(), kind == Kind::kShared ? F_RDLCK : F_WRLCK, at, 1);
  if (problem == 0) return true;
  if (says_held(problem)) return false;
  return fail(failed(problem));
}

void JoinLocks::clear(std::int64_t at) {
  (void)set_range_lock(descriptor_.get(), F_UNLCK, at, 1);
}

Result<bool> JoinLocks::others_hold(std::int64_t at, std::int64_t bytes) const {
  bool held = false;
  const int problem = ask_range_lock(descriptor_.get(), at, bytes, held);
  if (problem != 0) return fail(failed(problem));
  return held;
}

// Polled, since a wait in the kernel has no deadline, and a holder may have been stopped. Who has
// waited for long sleeps for longer: a quarter of it at most is lost when the gate becomes free.
Status JoinLocks::enter_gate(Kind kind, double seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr Clock::duration kLeast = std::chrono::microseconds(50);
  constexpr Clock::duration kMost = std::chrono::milliseconds(5);
  const auto begin = Clock::now();
  for (;;) {
    BENTO_ASSIGN(const bool in, set(kGateAt, kind));
    if (in) return {};
    const Clock::duration waited = Clock::now() - begin;
    if (seconds > 0 && waited > std::chrono::duration<double>(seconds))
      return fail(Code::kBusy,
                  fmt::format("'{}': another process is joining or leaving it for more than {} s "
                              "(timeout=); is it stopped?",
                              path_, seconds));
    std::this_thread::sleep_for(std::clamp(waited / 4, kLeast, kMost));
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
  const int problem = set_flock(descriptor_.get(), LOCK_SH);
  if (problem == 0) return true;
  if (says_held(problem)) return false;
  return fail(failed(problem));
}

void JoinLocks::leave_flock() {
  (void)set_flock(descriptor_.get(), LOCK_UN);
}

}  // namespace bento
