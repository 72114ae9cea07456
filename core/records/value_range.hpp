// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Smallest and largest value of a record (minmax=on), as numbers that order like the values.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace bento {

/// `low` > `high` never happens. Whoever does not know a range says everything(): such a record is
/// never skipped.
struct ValueRange {
  std::uint64_t low = 0;
  std::uint64_t high = ~0ull;

  static constexpr ValueRange everything() { return {}; }
  [[nodiscard]] constexpr bool meets(const ValueRange& other) const {
    return low <= other.high && other.low <= high;
  }
  /// The range of both.
  [[nodiscard]] constexpr ValueRange joined(const ValueRange& other) const {
    return {low < other.low ? low : other.low, high > other.high ? high : other.high};
  }
  bool operator==(const ValueRange&) const = default;
};

constexpr std::uint64_t sortable(std::uint64_t value) {
  return value;
}
constexpr std::uint64_t sortable(std::int64_t value) {
  return static_cast<std::uint64_t>(value) ^ (1ull << 63);
}
/// Both zeros are one value. NaN has no place in the order: a record that holds one is
/// everything().
constexpr std::uint64_t sortable(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value);
  return bits >> 63 != 0 ? ~bits : bits | 1ull << 63;
}

}  // namespace bento
