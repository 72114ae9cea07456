// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/comm/rank_tree.hpp"

#include <bit>
#include <cstdint>

namespace bento {

int parent_of(int rank) {
  return rank & (rank - 1);
}

std::vector<int> children_of(int rank, int size) {
  std::vector<int> children;
  const int lowest = rank == 0 ? size : rank & -rank;
  for (int bit = 1; bit < lowest && rank + bit < size; bit <<= 1) children.push_back(rank + bit);
  return children;
}

int height_of(int rank, int size) {
  return static_cast<int>(children_of(rank, size).size());
}

int depth_of(int rank) {
  return std::popcount(static_cast<unsigned>(rank));
}

int further_by(int rank, int distance, int size) {
  const std::int64_t there = (std::int64_t{rank} + distance) % size;
  return static_cast<int>(there < 0 ? there + size : there);
}

}  // namespace bento
