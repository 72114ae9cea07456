// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Where to halve a box so that few of the boxes that overlap it are cut.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/geometry/box.hpp"

namespace bento {

struct MiddleCut {
  unsigned dimension = 0;
  std::uint64_t at = 0;  ///< the first coordinate of the upper half
};

/// The middle one of the ends that lie inside `box`, in the dimension that has most of them.
/// `each_end(d, visit)` calls visit(coordinate) for both ends of each overlapping box along
/// dimension d. Nothing if none lies inside.
template <class EachEnd>
std::optional<MiddleCut> middle_cut(const Box& box, const EachEnd& each_end) {
  std::optional<MiddleCut> cut;
  std::vector<std::uint64_t> inside;
  std::size_t most = 0;
  for (unsigned d = 0; d < box.rank(); ++d) {
    inside.clear();
    each_end(d, [&](std::uint64_t end) {
      if (end > box.start[d] && end < box.start[d] + box.count[d]) inside.push_back(end);
    });
    if (inside.size() <= most) continue;
    most = inside.size();
    const auto middle = inside.begin() + static_cast<std::ptrdiff_t>(most / 2);
    std::nth_element(inside.begin(), middle, inside.end());
    cut = MiddleCut{d, *middle};
  }
  return cut;
}

/// What lies below the cut of `box`, and what lies above it.
inline std::pair<Box, Box> halves_of(const Box& box, const MiddleCut& cut) {
  std::pair<Box, Box> halves{box, box};
  auto& [lower, upper] = halves;
  lower.count[cut.dimension] = cut.at - box.start[cut.dimension];
  upper.start[cut.dimension] = cut.at;
  upper.count[cut.dimension] -= lower.count[cut.dimension];
  return halves;
}

}  // namespace bento
