// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Runs of elements, as they lie in the row-major order of a box, as boxes.
#pragma once

#include <vector>

#include "core/geometry/box.hpp"

namespace bento {

/// Boxes that make up the elements [begin, end) of row-major `whole`, in this order. Few: at most
/// two per dimension.
std::vector<Box> boxes_of_run(const Box& whole, std::uint64_t begin, std::uint64_t end);

/// Cuts `box`, which is not empty, so that what is given has at most `limit` elements, at least
/// one, and is the first run of its row-major order. What is left goes on the stack, what comes
/// next on top.
Box cut_front(Box box, std::uint64_t limit, std::vector<Box>& rest);

}  // namespace bento
