// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How a rank waits for others without a call that could not be left at a deadline. Task-local.
#pragma once

namespace bento::vol {

/// Seconds of a clock that is never set.
double now_s();

/// Yields the processor first, then sleeps for a share of the time waited so far: ranks may
/// outnumber cores, and a short wait must not become a long one.
class Backoff {
 public:
  static constexpr double kShortestNapSeconds = 50e-6;

  explicit Backoff(double longest_nap_s) : longest_s_(longest_nap_s) {}
  void pause();
  /// Is it later than this deadline (0: there is none)? To be asked before each pause. Time in
  /// which this process was stopped, or swapped out, does not count: what the others did meanwhile
  /// could not reach it. At most as long again as the deadline was away at first.
  [[nodiscard]] bool is_late(double deadline_s);

 private:
  double longest_s_;
  double begin_s_ = now_s();
  double asked_s_ = begin_s_;
  double stopped_s_ = 0;
};

}  // namespace bento::vol
