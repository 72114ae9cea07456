// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// In which pieces a log or an area is exposed to the ranks of other nodes. Each is four times as
/// large as all before it, since few can be exposed. Whoever reads must not cross their borders.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/board/board_memory.hpp"

namespace bento {

inline constexpr std::uint64_t kFirstSegmentBytes = std::uint64_t{256} << 10;

/// The first border behind the byte at `offset`.
inline std::uint64_t segment_end(std::uint64_t offset) {
  std::uint64_t end = kFirstSegmentBytes;
  while (end <= offset) end *= 4;
  return std::min(end, kMostExposedBytes);
}

}  // namespace bento
