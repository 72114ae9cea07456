// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Of numbers in a row, which is the nearest one that is not above a limit?
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bento {

/// Keeps only the numbers that can still be an answer: a nearer one that is no larger hides those
/// behind it.
class NearestBelow {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};

  void clear() { kept_.clear(); }
  /// A number in front of all before. Cost O(1), over all of them.
  void push(std::uint64_t value, std::size_t place) {
    while (!kept_.empty() && kept_.back().value >= value) kept_.pop_back();
    kept_.push_back({value, place});
  }
  /// Place of the nearest number that is at most `limit`; kNone. Cost O(log n).
  [[nodiscard]] std::size_t find(std::uint64_t limit) const {
    const auto above =
        std::upper_bound(kept_.begin(), kept_.end(), limit,
                         [](std::uint64_t most, const Kept& one) { return most < one.value; });
    return above == kept_.begin() ? kNone : (above - 1)->place;
  }

 private:
  struct Kept {
    std::uint64_t value;
    std::size_t place;
  };
  std::vector<Kept> kept_;  ///< the farthest first; values grow
};

}  // namespace bento
