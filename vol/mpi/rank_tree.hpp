// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The binomial tree rooted at rank 0 along which messages go: the parent of a rank lacks its
/// lowest set bit. Arithmetic only.
#pragma once

#include <vector>

namespace bento::vol {

int parent_of(int rank);
/// Ascending; they stand for adjacent ranges of ranks behind `rank`.
std::vector<int> children_of(int rank, int size);
/// At least the number of levels below a rank, and more than for any of its children.
int height_of(int rank, int size);
/// Levels above a rank.
int depth_of(int rank);

}  // namespace bento::vol
