// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which of many boxes make larger ones: rows that were written in any order are one box, and so
/// are points or blocks that fill a box.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/geometry/box.hpp"

namespace bento {

struct JoinedBoxes {
  std::vector<Box> boxes;
  std::vector<std::size_t> box_of;  ///< of each box that was given: which of `boxes` it is part of
};

/// `corners`: of each box `rank` starts, then `rank` counts. No joined box has more than
/// `most_elements` elements. Nothing if it is not plain that no two overlap: they do not if each is
/// a cell of one grid, or if all differ in one dimension only and lie one behind the other in that.
/// Time: O(n log n) for each dimension.
std::optional<JoinedBoxes> join_boxes(std::span<const std::uint64_t> corners, unsigned rank,
                                      std::uint64_t most_elements);

/// Which gaps between boxes may become part of one box around them.
struct GapLimits {
  Dims most;                        ///< length, in each dimension
  std::uint64_t most_in_gap = 0;    ///< elements, for each box that is saved
  std::uint64_t most_around = 0;    ///< elements, for each one that is in a box
  std::uint64_t most_elements = 0;  ///< of a box with its gaps
};

/// Joins boxes that lie one behind the other with gaps between them, where `may_fill` says of the
/// box around them, in which so many `elements` are not gap, that it may take their place. Boxes
/// that differ in more than one dimension may lie in a gap between others: `may_fill` must know.
/// Time: as join_boxes().
void join_over_gaps(JoinedBoxes& boxes, const GapLimits& limits,
                    const std::function<bool(const Box&, std::uint64_t elements)>& may_fill);

}  // namespace bento
