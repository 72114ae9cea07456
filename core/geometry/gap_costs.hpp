// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// When many small boxes are better written as the box around them, with what lies between.
#pragma once

#include <cstdint>

namespace bento {

/// What each box costs beside its elements, in bytes that could be written instead: a header, an
/// entry in the index, a look-up for each of them when they are read.
inline constexpr std::uint64_t kCostOfBox = 2048;
/// Of elements between the boxes, for each one in them, where no other rank writes.
inline constexpr std::uint64_t kMostAround = 16;

}  // namespace bento
