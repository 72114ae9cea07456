// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/mpi/backoff.hpp"

#include <algorithm>
#include <chrono>

#include <sched.h>
#include <time.h>

namespace bento::vol {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Backoff::pause() {
  constexpr double kYieldingSeconds = 200e-6;
  const double waited = now_s() - begin_s_;
  if (waited < kYieldingSeconds) {
    ::sched_yield();
    return;
  }
  const timespec nap{
      0, static_cast<long>(1e9 * std::clamp(waited / 8, kShortestNapSeconds, longest_s_))};
  ::nanosleep(&nap, nullptr);
}

}  // namespace bento::vol
