// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/board/node_lock.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>

#include <fmt/format.h>

namespace bento {

Status NodeLock::make() {
  pthread_mutexattr_t how;
  ::pthread_mutexattr_init(&how);
  int failed = ::pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
  if (failed == 0) failed = ::pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
  if (failed == 0) failed = ::pthread_mutex_init(&mutex_, &how);
  ::pthread_mutexattr_destroy(&how);
  if (failed == 0) return {};
  return fail(Code::kUnsupported,
              fmt::format("this system has no locks between processes: {}", std::strerror(failed)),
              failed);
}

namespace {

/// Waits for a clock that somebody may set, so a little at a time (pthread_mutex_clocklock() is
/// missing before glibc 2.30, for which the wheel is built).
int lock_until(pthread_mutex_t& mutex, std::chrono::steady_clock::time_point deadline) {
  constexpr long kSliceNs = 50'000'000;
  constexpr long kSecondNs = 1'000'000'000;
  int failed = ETIMEDOUT;
  while (failed == ETIMEDOUT && std::chrono::steady_clock::now() < deadline) {
    timespec until{};
    ::clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += kSliceNs;
    if (until.tv_nsec >= kSecondNs) {
      until.tv_nsec -= kSecondNs;
      ++until.tv_sec;
    }
    failed = ::pthread_mutex_timedlock(&mutex, &until);
  }
  return failed;
}

}  // namespace

// What a rank that died had begun is not known to be whole: nobody shall go on with it.
Status NodeLock::lock(double timeout_s, std::string_view what) {
  using Seconds = std::chrono::duration<double>;
  using Clock = std::chrono::steady_clock;
  const int failed =
      timeout_s > 0
          ? lock_until(mutex_, Clock::now() +
                                   std::chrono::duration_cast<Clock::duration>(Seconds(timeout_s)))
          : ::pthread_mutex_lock(&mutex_);
  if (failed == 0) return {};
  if (failed == EOWNERDEAD) ::pthread_mutex_unlock(&mutex_);  // not made consistent
  if (failed == EOWNERDEAD || failed == ENOTRECOVERABLE)
    return fail(Code::kPeer, fmt::format("a rank of this node has died in the middle of {}", what));
  return fail(Code::kPeer, fmt::format("another rank of this node did not end {} within {} s "
                                       "(timeout=)",
                                       what, timeout_s));
}

}  // namespace bento
