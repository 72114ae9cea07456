// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/board/node_lock.hpp"

#include <cerrno>
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

// What a rank that died had begun is not known to be whole: nobody shall go on with it.
Status NodeLock::lock(double timeout_s) {
  int failed = 0;
  if (timeout_s > 0) {
    timespec until{};
    ::clock_gettime(CLOCK_MONOTONIC, &until);
    const auto whole = static_cast<time_t>(timeout_s);
    until.tv_sec += whole;
    until.tv_nsec += static_cast<long>((timeout_s - static_cast<double>(whole)) * 1e9);
    if (until.tv_nsec >= 1000000000) {
      until.tv_nsec -= 1000000000;
      ++until.tv_sec;
    }
    failed = ::pthread_mutex_clocklock(&mutex_, CLOCK_MONOTONIC, &until);
  } else {
    failed = ::pthread_mutex_lock(&mutex_);
  }
  if (failed == 0) return {};
  if (failed == EOWNERDEAD) ::pthread_mutex_unlock(&mutex_);  // not made consistent
  if (failed == EOWNERDEAD || failed == ENOTRECOVERABLE)
    return fail(Code::kPeer, "MPI atomic mode: a rank has died in the middle of a transfer");
  return fail(Code::kPeer,
              fmt::format("MPI atomic mode: another rank did not end its transfer within {} s "
                          "(timeout=)",
                          timeout_s));
}

}  // namespace bento
