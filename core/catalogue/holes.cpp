// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/catalogue/holes.hpp"

#include <algorithm>
#include <utility>

namespace bento {

namespace {
std::uint64_t length(const CatalogueRange& range) {
  return range.end - range.begin;
}
}  // namespace

void Holes::add(CatalogueRange range) {
  bytes_ += length(range);
  if (const auto below = before(range.begin); below && below->end == range.begin) {
    erase(below->begin);
    range.begin = below->begin;
  }
  if (const auto above = first(0, range.end); above && above->begin == range.end) {
    erase(above->begin);
    range.end = above->end;
  }
  insert(range);
}

void Holes::take(const CatalogueRange& hole, const CatalogueRange& part) {
  bytes_ -= length(part);
  erase(hole.begin);
  if (hole.begin < part.begin) insert({hole.begin, part.begin});
  if (part.end < hole.end) insert({part.end, hole.end});
}

std::optional<CatalogueRange> Holes::first(std::uint64_t bytes, Position from) const {
  const Index found = first_in(root_, bytes, from);
  if (found == kNone) return std::nullopt;
  return nodes_[found].range;
}

Holes::Index Holes::first_in(Index node, std::uint64_t bytes, Position from) const {
  if (node == kNone || nodes_[node].largest < bytes) return kNone;
  const Node& here = nodes_[node];
  if (here.range.begin >= from) {
    if (const Index left = first_in(here.left, bytes, from); left != kNone) return left;
    if (length(here.range) >= bytes) return node;
  }
  return first_in(here.right, bytes, from);
}

std::optional<CatalogueRange> Holes::before(Position position) const {
  Index found = kNone;
  for (Index node = root_; node != kNone;) {
    const Node& here = nodes_[node];
    if (here.range.begin < position) found = node;
    node = here.range.begin < position ? here.right : here.left;
  }
  if (found == kNone) return std::nullopt;
  return nodes_[found].range;
}

std::optional<CatalogueRange> Holes::last() const {
  if (root_ == kNone) return std::nullopt;
  Index node = root_;
  while (nodes_[node].right != kNone) node = nodes_[node].right;
  return nodes_[node].range;
}

std::vector<CatalogueRange> Holes::all() const {
  std::vector<CatalogueRange> out;
  out.reserve(nodes_.size());
  std::vector<Index> above;
  for (Index node = root_; node != kNone || !above.empty();) {
    for (; node != kNone; node = nodes_[node].left) above.push_back(node);
    node = above.back();
    above.pop_back();
    out.push_back(nodes_[node].range);
    node = nodes_[node].right;
  }
  return out;
}

void Holes::update(Index node) {
  Node& here = nodes_[node];
  here.largest =
      std::max({length(here.range), nodes_[here.left].largest, nodes_[here.right].largest});
}

Holes::Index Holes::make(const CatalogueRange& range) {
  Index node = 0;
  if (unused_.empty()) {
    node = static_cast<Index>(nodes_.size());
    nodes_.emplace_back();
  } else {
    node = unused_.back();
    unused_.pop_back();
  }
  // Knuth's generator: no two runs of a program may differ in where they put things.
  random_ = random_ * 6364136223846793005u + 1442695040888963407u;
  nodes_[node] = {range, length(range), static_cast<std::uint32_t>(random_ >> 32), kNone, kNone};
  return node;
}

void Holes::split(Index node, Position position, Index& left, Index& right) {
  if (node == kNone) {
    left = right = kNone;
    return;
  }
  Index rest = kNone;
  if (nodes_[node].range.begin < position) {
    split(nodes_[node].right, position, rest, right);
    nodes_[node].right = rest;
    left = node;
  } else {
    split(nodes_[node].left, position, left, rest);
    nodes_[node].left = rest;
    right = node;
  }
  update(node);
}

Holes::Index Holes::join(Index left, Index right) {
  if (left == kNone || right == kNone) return left == kNone ? right : left;
  const bool left_on_top = nodes_[left].priority > nodes_[right].priority;
  const Index top = left_on_top ? left : right;
  if (left_on_top)
    nodes_[top].right = join(nodes_[left].right, right);
  else
    nodes_[top].left = join(left, nodes_[right].left);
  update(top);
  return top;
}

void Holes::insert(const CatalogueRange& range) {
  const Index node = make(range);
  Index left = kNone;
  Index right = kNone;
  split(root_, range.begin, left, right);
  root_ = join(join(left, node), right);
}

void Holes::erase(Position begin) {
  root_ = erased(root_, begin);
}

Holes::Index Holes::erased(Index node, Position begin) {
  if (node == kNone) return kNone;
  const Position here = nodes_[node].range.begin;
  if (here == begin) {
    unused_.push_back(node);
    return join(nodes_[node].left, nodes_[node].right);
  }
  Index& below = begin < here ? nodes_[node].left : nodes_[node].right;
  below = erased(below, begin);
  update(node);
  return node;
}

}  // namespace bento
