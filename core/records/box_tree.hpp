// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Bounding-volume tree over boxes that lie in one flat array: which of them overlap a box? Built
/// at once by halving at the median; never changed, only built anew.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/geometry/box.hpp"

namespace bento {

/// Appends a box to an array as BoxTree wants it.
inline void append_corners(std::vector<std::uint64_t>& corners, const Box& box) {
  for (const Dims* const corner : {&box.start, &box.count})
    corners.insert(corners.end(), corner->view().begin(), corner->view().end());
}

class BoxTree {
 public:
  /// `corners` holds for each box its `rank` starts and then its `rank` counts; only the first
  /// `boxes` are taken in. Cost O(n log n).
  void build(std::span<const std::uint64_t> corners, unsigned rank, std::size_t boxes);
  [[nodiscard]] std::size_t size() const { return order_.size(); }
  void clear();

  /// Appends the numbers of the boxes that overlap `selection`. `corners` as in build().
  void find(std::span<const std::uint64_t> corners, const Box& selection,
            std::vector<std::size_t>& out) const;

  /// Calls visit(a, b) for pairs of different boxes that overlap, each pair once, until it says
  /// false. Far cheaper than a find() per box. Returns whether all pairs were visited.
  bool for_each_overlap(std::span<const std::uint64_t> corners,
                        const std::function<bool(std::size_t, std::size_t)>& visit) const;

 private:
  struct Node {
    std::uint32_t first = 0;  ///< in order_
    std::uint32_t count = 0;
    std::uint32_t right = 0;  ///< right child; the left one follows its parent. 0 in a leaf
  };
  std::uint32_t build_node(std::span<const std::uint64_t> corners, std::uint32_t first,
                           std::uint32_t count);

  struct Join;
  bool join(Join& with, std::uint32_t a, std::uint32_t b) const;

  unsigned rank_ = 0;
  std::vector<std::uint32_t> order_;
  std::vector<Node> nodes_;
  std::vector<std::uint64_t> bounds_;  ///< per node: rank lows, rank highs (exclusive)
};

/// Do the box at `corner` (starts, counts) and `selection` overlap?
bool corner_overlaps(const std::uint64_t* corner, const Box& selection);

}  // namespace bento
