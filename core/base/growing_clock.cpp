// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/base/growing_clock.hpp"

#include <algorithm>
#include <chrono>

namespace bento {

std::uint64_t GrowingClock::now_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ns =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  last_ns_ = std::max(ns, last_ns_ + 1);
  return last_ns_;
}

}  // namespace bento
