// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/base/growing_clock.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace bento {

namespace {

template <class Clock>
std::int64_t now_of() {
  const auto now = Clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

/// H5BENTO_TEST_CLOCK=SECONDS:PPM:STEP:AFTER: ahead, too fast, and set by STEP seconds AFTER
/// seconds.
struct Skew {
  double seconds = 0;
  double ppm = 0;
  double step_seconds = 0;
  double step_after = 0;
  std::int64_t since_ns = 0;
};

const Skew& skew() {
  static const Skew wanted = [] {
    Skew from;
    if (const char* const text = std::getenv("H5BENTO_TEST_CLOCK"); text != nullptr)
      (void)std::sscanf(text, "%lf:%lf:%lf:%lf", &from.seconds, &from.ppm, &from.step_seconds,
                        &from.step_after);
    from.since_ns = now_of<std::chrono::steady_clock>();
    return from;
  }();
  return wanted;
}

}  // namespace

std::int64_t GrowingClock::steady_ns() {
  const std::int64_t now = now_of<std::chrono::steady_clock>();
  const Skew& by = skew();
  if (by.seconds == 0 && by.ppm == 0 && by.step_seconds == 0) return now;
  const auto age_ns = static_cast<double>(now - by.since_ns);
  const double step = age_ns >= by.step_after * 1e9 ? by.step_seconds : 0;
  return now + static_cast<std::int64_t>((by.seconds + step) * 1e9 + age_ns * by.ppm / 1e6);
}

std::uint64_t GrowingClock::now_ns() {
  const std::int64_t now =
      offset_ns_ ? steady_ns() + *offset_ns_ : now_of<std::chrono::system_clock>();
  last_ns_ = std::max(static_cast<std::uint64_t>(now), last_ns_ + 1);
  return last_ns_;
}

std::int64_t GrowingClock::steady_offset_ns() {
  return now_of<std::chrono::system_clock>() - steady_ns();
}

}  // namespace bento
