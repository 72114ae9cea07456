// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/mpi/backoff.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <sched.h>
#include <time.h>

namespace bento::vol {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool Backoff::is_late(double deadline_s) {
  constexpr double kStoppedSeconds = 0.1;  // no nap is nearly as long
  const double now = now_s();
  const double since = now - std::exchange(asked_s_, now);
  if (since > kStoppedSeconds) stopped_s_ += since;
  const double most = std::max(0.0, deadline_s - begin_s_);
  return deadline_s > 0 && now > deadline_s + std::min(stopped_s_, most);
}

void Backoff::pause() {
  constexpr double kYieldingSeconds = 200e-6;
  // What is waited for is noticed late by this part of the wait. Of 8, 16, 32 and 64, this is where
  // more wake-ups no longer made the close of a file faster (4 ranks on 2 cores).
  constexpr double kPartNapped = 1.0 / 32;
  const double waited = now_s() - begin_s_;
  if (waited < kYieldingSeconds) {
    ::sched_yield();
    return;
  }
  const timespec nap{0, static_cast<long>(1e9 * std::clamp(waited * kPartNapped,
                                                           kShortestNapSeconds, longest_s_))};
  ::nanosleep(&nap, nullptr);
}

}  // namespace bento::vol
