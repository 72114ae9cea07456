// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <algorithm>
#include <utility>
#include <vector>

#include "core/geometry/joined_boxes.hpp"

namespace bento {

namespace {

/// Boxes that were given, and the one around them.
struct Group {
  Box box;
  std::uint64_t elements = 0;      ///< of its boxes
  std::vector<std::size_t> boxes;  ///< by their place in JoinedBoxes
};

/// In all dimensions but `along`.
bool lie_in_line(const Box& one, const Box& other, unsigned along) {
  for (unsigned d = 0; d < one.rank(); ++d)
    if (d != along && (one.start[d] != other.start[d] || one.count[d] != other.count[d]))
      return false;
  return true;
}

bool may_join(const Group& last, const Group& next, unsigned along, const GapLimits& limits) {
  const std::uint64_t end = last.box.start[along] + last.box.count[along];
  if (!lie_in_line(last.box, next.box, along) || next.box.start[along] < end) return false;
  const std::uint64_t gap = next.box.start[along] - end;
  const std::uint64_t in_layer = last.box.elements() / last.box.count[along];
  const std::uint64_t saved = std::min(last.boxes.size(), next.boxes.size());
  const std::uint64_t written = std::min(last.elements, next.elements);
  const std::uint64_t most = std::min(saved * limits.most_in_gap, written * limits.most_around);
  const std::uint64_t layers = last.box.count[along] + next.box.count[along];
  return gap <= limits.most[along] && gap <= most / in_layer &&
         gap + layers <= limits.most_elements / in_layer;
}

void join_along(std::vector<Group>& groups, unsigned along, const GapLimits& limits) {
  const auto before = [&](const Group& a, const Group& b) {
    for (unsigned d = 0; d < a.box.rank(); ++d)
      if (d != along && a.box.start[d] != b.box.start[d]) return a.box.start[d] < b.box.start[d];
    return a.box.start[along] < b.box.start[along];
  };
  if (!std::ranges::is_sorted(groups, before)) std::ranges::sort(groups, before);
  std::size_t kept = 0;
  for (std::size_t next = 1; next < groups.size(); ++next) {
    Group& last = groups[kept];
    Group& other = groups[next];
    if (!may_join(last, other, along, limits)) {
      if (++kept != next) groups[kept] = std::move(other);
      continue;
    }
    last.box.count[along] = other.box.start[along] + other.box.count[along] - last.box.start[along];
    last.elements += other.elements;
    last.boxes.insert(last.boxes.end(), other.boxes.begin(), other.boxes.end());
  }
  groups.resize(kept + 1);
}

}  // namespace

void join_over_gaps(JoinedBoxes& boxes, const GapLimits& limits,
                    const std::function<bool(const Box&, std::uint64_t)>& may_fill) {
  if (boxes.boxes.size() < 2) return;
  std::vector<Group> groups(boxes.boxes.size());
  for (std::size_t i = 0; i < groups.size(); ++i)
    groups[i] = {boxes.boxes[i], boxes.boxes[i].elements(), {i}};
  for (unsigned d = boxes.boxes.front().rank(); d-- > 0;) join_along(groups, d, limits);
  if (groups.size() == boxes.boxes.size()) return;
  std::vector<Box> joined;
  std::vector<std::size_t> place(boxes.boxes.size());
  for (const Group& group : groups) {
    if (group.boxes.size() > 1 && may_fill(group.box, group.elements)) {
      for (const std::size_t one : group.boxes) place[one] = joined.size();
      joined.push_back(group.box);
      continue;
    }
    for (const std::size_t one : group.boxes) {
      place[one] = joined.size();
      joined.push_back(boxes.boxes[one]);
    }
  }
  for (std::size_t& box : boxes.box_of) box = place[box];
  boxes.boxes = std::move(joined);
}

}  // namespace bento
