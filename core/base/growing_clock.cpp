// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/base/growing_clock.hpp"

#include <algorithm>
#include <chrono>

namespace bento {

namespace {

template <class Clock>
std::int64_t now_of() {
  const auto now = Clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

std::uint64_t GrowingClock::now_ns() {
  const std::int64_t now = offset_ns_ ? now_of<std::chrono::steady_clock>() + *offset_ns_
                                      : now_of<std::chrono::system_clock>();
  last_ns_ = std::max(static_cast<std::uint64_t>(now), last_ns_ + 1);
  return last_ns_;
}

std::int64_t GrowingClock::steady_offset_ns() {
  return now_of<std::chrono::system_clock>() - now_of<std::chrono::steady_clock>();
}

}  // namespace bento
