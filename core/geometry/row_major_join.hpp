// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Where two boxes meet that make one in row-major order: append_row_major() (box.hpp), for who has
/// the first box's numbers elsewhere than in a Box.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/geometry/box.hpp"

namespace bento {

/// The dimension along which append_row_major() would append `second` to the box of these starts
/// and counts; nothing if the two do not make one box.
inline std::optional<unsigned> row_major_join(std::span<const std::uint64_t> start,
                                              std::span<const std::uint64_t> count,
                                              const Box& second) {
  const auto rank = static_cast<unsigned>(start.size());
  if (rank == 0 || second.rank() != rank || second.empty()) return std::nullopt;
  // The joining dimension is the slowest in which either has more than one element or they differ.
  unsigned join = 0;
  while (join + 1 < rank && count[join] == 1 && second.count[join] == 1 &&
         start[join] == second.start[join])
    ++join;
  if (start[join] + count[join] != second.start[join]) return std::nullopt;
  for (unsigned d = join + 1; d < rank; ++d)
    if (start[d] != second.start[d] || count[d] != second.count[d]) return std::nullopt;
  // Behind a box of nothing there is nothing to join. (The dimensions before are 1, those behind as
  // in `second`.)
  return count[join] != 0 ? std::optional(join) : std::nullopt;
}

}  // namespace bento
