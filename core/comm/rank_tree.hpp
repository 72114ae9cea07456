// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The binomial tree rooted at rank 0 along which messages go: the parent of a rank lacks its
/// lowest set bit. And the circle of ranks in which shifts go. Arithmetic only, for all
/// communicators that count or send real messages.
#pragma once

#include <cstddef>
#include <vector>

namespace bento {

/// In front of what each message carries: its number, its length and its kind.
inline constexpr std::size_t kMessageHeadBytes = 8 + 8 + 1;

int parent_of(int rank);
/// Ascending; they stand for adjacent ranges of ranks behind `rank`.
std::vector<int> children_of(int rank, int size);
/// At least the number of levels below a rank, and more than for any of its children.
int height_of(int rank, int size);
/// Levels above a rank.
int depth_of(int rank);

/// The rank that is `distance` further than `rank` in a circle of `size` ranks. `distance` may be
/// negative.
int further_by(int rank, int distance, int size);

}  // namespace bento
