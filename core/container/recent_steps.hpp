// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Steps that stay readable for some time after a newer one came, however many that are: a reader
/// beside a writer that commits all the time has that long for what it reads.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>

namespace bento {

class RecentSteps {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMost = 4096;

  /// From now on each step stays for `seconds` after the commit of the next one.
  void keep_for(double seconds) { time_ = std::chrono::duration<double>(seconds); }
  [[nodiscard]] bool any() const { return time_.count() > 0; }

  /// A step is committed: how many steps stay readable, this one included, if `keep` do anyway (0:
  /// all of them).
  std::uint64_t keep_with(std::uint64_t keep, Clock::time_point now) {
    if (!any() || keep == 0) return keep;
    replaced_.push_back(now);
    while (replaced_.size() > kMost || now - replaced_.front() > time_) replaced_.pop_front();
    return std::max<std::uint64_t>(keep, replaced_.size() + 1);
  }

 private:
  std::chrono::duration<double> time_{0};
  std::deque<Clock::time_point> replaced_;  ///< when older steps were, as far as it matters
};

}  // namespace bento
