// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The time of day, in nanoseconds, that never stands still: what one rank does later has a larger
/// time, also when the clock is set back. Task-local.
#pragma once

#include <cstdint>

namespace bento {

class GrowingClock {
 public:
  /// Nanoseconds since 1970; more than at any call before.
  std::uint64_t now_ns();

 private:
  std::uint64_t last_ns_ = 0;
};

}  // namespace bento
