// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/records/resolve_along.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <queue>

namespace bento {

namespace {

bool covers(const Box& visible, const Box& selection, unsigned d) {
  return visible.start[d] <= selection.start[d] &&
         visible.start[d] + visible.count[d] >= selection.start[d] + selection.count[d];
}

/// What one candidate has of the selection.
struct Interval {
  std::uint64_t begin;
  std::uint64_t end;
  std::size_t age;  ///< 0: the newest
};

struct IsOlder {
  bool operator()(const Interval& a, const Interval& b) const { return a.age > b.age; }
};

}  // namespace

std::optional<unsigned> only_dimension(const Box& selection,
                                       const std::vector<const Candidate*>& candidates) {
  std::optional<unsigned> only;
  for (const Candidate* const candidate : candidates)
    for (unsigned d = 0; d < selection.rank(); ++d) {
      if (d == only || covers(candidate->visible, selection, d)) continue;
      if (only) return {};
      only = d;
    }
  return only;
}

Status resolve_along(unsigned dimension, const Box& selection,
                     const std::vector<const Candidate*>& newest_first, QueryBudget& budget,
                     Lookup& out) {
  const std::uint64_t first = selection.start[dimension];
  const std::uint64_t last = first + selection.count[dimension];
  std::vector<Interval> all;
  all.reserve(newest_first.size());
  for (std::size_t age = 0; age < newest_first.size(); ++age) {
    const Box& visible = newest_first[age]->visible;
    const std::uint64_t begin = std::max(first, visible.start[dimension]);
    const std::uint64_t end = std::min(last, visible.start[dimension] + visible.count[dimension]);
    if (begin < end) all.push_back({begin, end, age});
  }
  BENTO_TRY(budget.spend(1 + all.size()));
  std::sort(all.begin(), all.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });

  const auto part = [&](std::uint64_t begin, std::uint64_t end) {
    Box box = selection;
    box.start[dimension] = begin;
    box.count[dimension] = end - begin;
    return box;
  };
  // Those that have begun, the newest on top; what has ended is taken off when it comes there.
  std::priority_queue<Interval, std::vector<Interval>, IsOlder> begun;
  auto next = all.begin();
  for (std::uint64_t at = first; at < last;) {
    for (; next != all.end() && next->begin <= at; ++next) begun.push(*next);
    while (!begun.empty() && begun.top().end <= at) begun.pop();
    if (begun.empty()) {
      const std::uint64_t end = next == all.end() ? last : next->begin;
      out.uncovered.push_back(part(at, end));
      at = end;
      continue;
    }
    const Interval seen = begun.top();
    // It is seen until it ends, or a newer one begins.
    for (; next != all.end() && next->begin < seen.end && next->age > seen.age; ++next)
      begun.push(*next);
    const std::uint64_t end = next == all.end() ? seen.end : std::min(seen.end, next->begin);
    out.pieces.push_back({newest_first[seen.age]->record, part(at, end)});
    at = end;
  }
  return budget.hold_boxes(out.uncovered.size() + out.pieces.size());
}

}  // namespace bento
