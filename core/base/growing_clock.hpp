// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The time of day, in nanoseconds, that never stands still: what one rank does later has a larger
/// time, also when the clock is set back. Task-local.
#pragma once

#include <cstdint>
#include <optional>

namespace bento {

class GrowingClock {
 public:
  /// Nanoseconds since 1970; more than at any call before.
  std::uint64_t now_ns();
  /// What comes now is later than this, whatever the clock of the node shows.
  void pass(std::uint64_t time_ns) { last_ns_ = time_ns > last_ns_ ? time_ns : last_ns_; }
  /// From now on the steady clock of the node, and this offset.
  void follow_steady(std::int64_t offset_ns) { offset_ns_ = offset_ns; }
  /// The clock of the node that nobody sets, in nanoseconds. H5BENTO_TEST_CLOCK=SECONDS:PPM
  /// pretends that it is ahead, and too fast, for tests on one machine.
  static std::int64_t steady_ns();
  /// What the time of day is ahead of it now.
  static std::int64_t steady_offset_ns();

 private:
  std::optional<std::int64_t> offset_ns_;
  std::uint64_t last_ns_ = 0;
};

}  // namespace bento
