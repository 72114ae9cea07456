// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/records/box_tree.hpp"

#include <algorithm>
#include <numeric>

namespace bento {

namespace {
constexpr std::uint32_t kLeaf = 16;
}

bool corner_overlaps(const std::uint64_t* corner, const Box& selection) {
  const unsigned rank = selection.rank();
  for (unsigned d = 0; d < rank; ++d) {
    const std::uint64_t start = corner[d];
    const std::uint64_t count = corner[rank + d];
    if (count == 0 || start >= selection.start[d] + selection.count[d] ||
        selection.start[d] >= start + count)
      return false;
  }
  return true;
}

void BoxTree::clear() {
  order_.clear();
  nodes_.clear();
  bounds_.clear();
}

void BoxTree::build(std::span<const std::uint64_t> corners, unsigned rank, std::size_t boxes) {
  clear();
  rank_ = rank;
  order_.resize(boxes);
  std::iota(order_.begin(), order_.end(), 0u);
  if (boxes != 0) build_node(corners, 0, static_cast<std::uint32_t>(boxes));
}

std::uint32_t BoxTree::build_node(std::span<const std::uint64_t> corners, std::uint32_t first,
                                  std::uint32_t count) {
  const auto self = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back({first, count, 0});
  std::array<std::uint64_t, std::size_t{2} * kMaxRank> bound{};
  for (unsigned d = 0; d < rank_; ++d) bound[d] = ~0ull;
  for (std::uint32_t i = first; i < first + count; ++i) {
    const std::uint64_t* const corner = &corners[order_[i] * std::size_t{2} * rank_];
    for (unsigned d = 0; d < rank_; ++d) {
      bound[d] = std::min(bound[d], corner[d]);
      bound[rank_ + d] = std::max(bound[rank_ + d], corner[d] + corner[rank_ + d]);
    }
  }
  bounds_.insert(bounds_.end(), bound.begin(), bound.begin() + 2 * std::ptrdiff_t{rank_});
  if (count <= kLeaf || rank_ == 0) return self;

  unsigned widest = 0;
  for (unsigned d = 1; d < rank_; ++d)
    if (bound[rank_ + d] - bound[d] > bound[rank_ + widest] - bound[widest]) widest = d;
  const std::uint32_t half = count / 2;
  const auto begin = order_.begin() + first;
  std::nth_element(begin, begin + half, begin + count, [&](std::uint32_t a, std::uint32_t b) {
    return corners[a * std::size_t{2} * rank_ + widest] <
           corners[b * std::size_t{2} * rank_ + widest];
  });
  build_node(corners, first, half);
  const std::uint32_t right = build_node(corners, first + half, count - half);
  nodes_[self].right = right;
  return self;
}

void BoxTree::find(std::span<const std::uint64_t> corners, const Box& selection,
                   std::vector<std::size_t>& out) const {
  if (nodes_.empty()) return;
  std::vector<std::uint32_t> todo{0};
  while (!todo.empty()) {
    const std::uint32_t at = todo.back();
    todo.pop_back();
    const std::uint64_t* const bound = bounds_.data() + at * std::size_t{2} * rank_;
    bool touched = true;
    for (unsigned d = 0; d < rank_ && touched; ++d)
      touched = bound[d] < selection.start[d] + selection.count[d] &&
                selection.start[d] < bound[rank_ + d];
    if (!touched) continue;
    const Node& node = nodes_[at];
    if (node.right != 0) {
      todo.push_back(node.right);
      todo.push_back(at + 1);
      continue;
    }
    for (std::uint32_t i = node.first; i < node.first + node.count; ++i)
      if (corner_overlaps(&corners[order_[i] * std::size_t{2} * rank_], selection))
        out.push_back(order_[i]);
  }
}

struct BoxTree::Join {
  std::span<const std::uint64_t> corners;
  const std::function<bool(std::size_t, std::size_t)>& visit;
};

bool BoxTree::for_each_overlap(std::span<const std::uint64_t> corners,
                               const std::function<bool(std::size_t, std::size_t)>& visit) const {
  if (nodes_.empty()) return true;
  Join with{corners, visit};
  return join(with, 0, 0);
}

bool BoxTree::join(Join& with, std::uint32_t a, std::uint32_t b) const {
  const std::uint64_t* const left = bounds_.data() + a * std::size_t{2} * rank_;
  const std::uint64_t* const right = bounds_.data() + b * std::size_t{2} * rank_;
  for (unsigned d = 0; d < rank_; ++d)
    if (left[d] >= right[rank_ + d] || right[d] >= left[rank_ + d]) return true;
  const Node& one = nodes_[a];
  const Node& two = nodes_[b];
  if (one.right == 0 && two.right == 0) {
    for (std::uint32_t i = one.first; i < one.first + one.count; ++i)
      for (std::uint32_t j = a == b ? i + 1 : two.first; j < two.first + two.count; ++j) {
        const std::uint64_t* const x = &with.corners[order_[i] * std::size_t{2} * rank_];
        const std::uint64_t* const y = &with.corners[order_[j] * std::size_t{2} * rank_];
        bool touch = true;
        for (unsigned d = 0; d < rank_ && touch; ++d)
          touch = x[d] < y[d] + y[rank_ + d] && y[d] < x[d] + x[rank_ + d];
        if (touch && !with.visit(order_[i], order_[j])) return false;
      }
    return true;
  }
  if (a == b)
    return join(with, a + 1, a + 1) && join(with, a + 1, one.right) &&
           join(with, one.right, one.right);
  if (two.right == 0 || (one.right != 0 && one.count >= two.count))
    return join(with, a + 1, b) && join(with, one.right, b);
  return join(with, a, b + 1) && join(with, a, two.right);
}

}  // namespace bento
