// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which of many boxes make larger ones: rows that were written in any order are one box, and so
/// are points or blocks that fill a box.
#pragma once

#include <cstddef>
#include <cstdint>
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
/// `most_elements` elements. Nothing if no two of them make one, or if it is not plain that no two
/// overlap: they do not if each is a cell of one grid, or if all differ in one dimension only and
/// lie one behind the other in that. Time: O(n log n) for each dimension.
std::optional<JoinedBoxes> join_boxes(std::span<const std::uint64_t> corners, unsigned rank,
                                      std::uint64_t most_elements);

}  // namespace bento
