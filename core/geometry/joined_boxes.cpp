// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/geometry/joined_boxes.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace bento {

namespace {

class Joining {
 public:
  Joining(std::span<const std::uint64_t> corners, unsigned rank)
      : rank_(rank),
        corners_(corners.begin(), corners.end()),
        part_of_(corners.size() / (std::size_t{2} * rank)),
        left_(part_of_.size()) {
    std::iota(part_of_.begin(), part_of_.end(), std::size_t{0});
    left_ = part_of_;
  }

  /// Is it plain that they do not overlap?
  bool are_disjoint() {
    unsigned differ = 0;
    unsigned along = 0;
    bool grid = true;
    for (unsigned d = 0; d < rank_; ++d) {
      if (is_equal_in_all(d)) continue;
      ++differ;
      along = d;
      grid = grid && is_grid(d);
    }
    if (differ == 0 || (differ > 1 && !grid)) return false;
    sort_along(rank_ - 1);
    const auto touch = [&](std::size_t a, std::size_t b) {
      return differ == 1 ? start(a, along) + count(a, along) > start(b, along) : same_start(a, b);
    };
    return std::ranges::adjacent_find(left_, touch) == left_.end();
  }

  /// Joins neighbours, of which `takes(last, next, gap)` says whether the one behind the other
  /// becomes part of it, and so does the gap between them.
  template <class Takes>
  void join_along(unsigned d, const Takes& takes) {
    sort_along(d);
    std::size_t kept = 0;
    for (const std::size_t next : left_) {
      const std::size_t last = kept == 0 ? next : left_[kept - 1];
      if (kept != 0 && lies_behind(last, next, d) && takes(last, next, gap(last, next, d))) {
        count(last, d) = start(next, d) + count(next, d) - start(last, d);
        part_of_[next] = last;
      } else {
        left_[kept++] = next;
      }
    }
    left_.resize(kept);
  }

  std::uint64_t elements(std::size_t i) { return Dims(corner(i).last(rank_)).product(); }
  /// In each element of this dimension.
  std::uint64_t layer(std::size_t i, unsigned d) { return elements(i) / count(i, d); }
  [[nodiscard]] std::uint64_t& count(std::size_t i, unsigned d) {
    return corners_[i * 2 * rank_ + rank_ + d];
  }

  JoinedBoxes result() {
    JoinedBoxes out;
    out.box_of.resize(part_of_.size());
    out.boxes.reserve(left_.size());
    for (const std::size_t one : left_) {
      out.box_of[one] = out.boxes.size();
      out.boxes.push_back({Dims(corner(one).first(rank_)), Dims(corner(one).last(rank_))});
    }
    for (std::size_t i = 0; i < part_of_.size(); ++i) {
      std::size_t whole = i;
      while (part_of_[whole] != whole) whole = part_of_[whole];
      // Who is asked for later has a shorter way.
      for (std::size_t at = i; part_of_[at] != whole;) at = std::exchange(part_of_[at], whole);
      out.box_of[i] = out.box_of[whole];
    }
    return out;
  }

 private:
  [[nodiscard]] std::span<const std::uint64_t> corner(std::size_t i) const {
    return std::span(corners_).subspan(i * 2 * rank_, std::size_t{2} * rank_);
  }
  [[nodiscard]] std::uint64_t start(std::size_t i, unsigned d) const {
    return corners_[i * 2 * rank_ + d];
  }

  bool is_equal_in_all(unsigned d) {
    return std::ranges::all_of(left_, [&](std::size_t i) {
      return start(i, d) == start(0, d) && count(i, d) == count(0, d);
    });
  }

  /// Does each begin where a cell does, and end within it? The largest of them is a cell.
  bool is_grid(unsigned d) {
    std::uint64_t cell = 0;
    std::uint64_t first = start(0, d);
    for (const std::size_t i : left_) {
      cell = std::max(cell, count(i, d));
      first = std::min(first, start(i, d));
    }
    return cell != 0 && std::ranges::all_of(left_, [&](std::size_t i) {
             return (start(i, d) - first) % cell == 0;
           });
  }

  bool same_start(std::size_t a, std::size_t b) {
    return std::ranges::equal(corner(a).first(rank_), corner(b).first(rank_));
  }

  bool lies_behind(std::size_t last, std::size_t next, unsigned along) {
    for (unsigned d = 0; d < rank_; ++d) {
      const bool fits = d == along
                            ? start(last, d) + count(last, d) <= start(next, d)
                            : start(last, d) == start(next, d) && count(last, d) == count(next, d);
      if (!fits) return false;
    }
    return true;
  }
  std::uint64_t gap(std::size_t last, std::size_t next, unsigned d) {
    return start(next, d) - start(last, d) - count(last, d);
  }

  /// Neighbours along this dimension become neighbours in left_. Programs write much in order.
  void sort_along(unsigned along) {
    const auto before = [&](std::size_t a, std::size_t b) {
      for (unsigned d = 0; d < rank_; ++d)
        if (d != along && start(a, d) != start(b, d)) return start(a, d) < start(b, d);
      return start(a, along) < start(b, along);
    };
    if (!std::ranges::is_sorted(left_, before)) std::ranges::sort(left_, before);
  }

  unsigned rank_;
  std::vector<std::uint64_t> corners_;
  std::vector<std::size_t> part_of_;  ///< itself while it is left
  std::vector<std::size_t> left_;
};

}  // namespace

std::optional<JoinedBoxes> join_boxes(std::span<const std::uint64_t> corners, unsigned rank,
                                      std::uint64_t most_elements) {
  if (rank == 0 || corners.empty()) return std::nullopt;
  Joining joining(corners, rank);
  if (!joining.are_disjoint()) return std::nullopt;
  const auto takes = [&](std::size_t last, std::size_t next, std::uint64_t gap) {
    return gap == 0 && joining.elements(last) <=
                           most_elements - std::min(most_elements, joining.elements(next));
  };
  for (unsigned d = rank; d-- > 0;) joining.join_along(d, takes);
  return joining.result();
}

namespace {

/// What a box holds of those that have become part of it.
struct Held {
  std::uint64_t boxes = 1;
  std::uint64_t elements = 0;
};

/// The boxes around those that may share one.
JoinedBoxes around(const std::vector<Box>& boxes, const GapLimits& limits) {
  const unsigned rank = boxes.front().rank();
  std::vector<std::uint64_t> corners;
  corners.reserve(boxes.size() * 2 * rank);
  for (const Box& box : boxes)
    for (const auto& corner : {box.start.view(), box.count.view()})
      corners.insert(corners.end(), corner.begin(), corner.end());
  Joining joining(corners, rank);
  std::vector<Held> held(boxes.size());
  for (std::size_t i = 0; i < boxes.size(); ++i) held[i].elements = boxes[i].elements();
  for (unsigned d = rank; d-- > 0;)
    joining.join_along(d, [&](std::size_t last, std::size_t next, std::uint64_t gap) {
      const std::uint64_t layer = joining.layer(last, d);
      const std::uint64_t most =
          std::min(std::min(held[last].boxes, held[next].boxes) * limits.most_in_gap,
                   std::min(held[last].elements, held[next].elements) * limits.most_around);
      const std::uint64_t layers = joining.count(last, d) + joining.count(next, d);
      if (gap > limits.most[d] || gap > most / layer || gap + layers > limits.most_elements / layer)
        return false;
      held[last].boxes += held[next].boxes;
      held[last].elements += held[next].elements;
      return true;
    });
  return joining.result();
}

}  // namespace

void join_over_gaps(JoinedBoxes& boxes, const GapLimits& limits,
                    const std::function<bool(const Box&, std::uint64_t)>& may_fill) {
  if (boxes.boxes.size() < 2) return;
  const JoinedBoxes groups = around(boxes.boxes, limits);
  if (groups.boxes.size() == boxes.boxes.size()) return;
  std::vector<std::vector<std::size_t>> members(groups.boxes.size());
  for (std::size_t i = 0; i < boxes.boxes.size(); ++i) members[groups.box_of[i]].push_back(i);
  std::vector<Box> joined;
  std::vector<std::size_t> place(boxes.boxes.size());
  for (std::size_t group = 0; group < members.size(); ++group) {
    std::uint64_t elements = 0;
    for (const std::size_t one : members[group]) elements += boxes.boxes[one].elements();
    const bool fills = members[group].size() > 1 && may_fill(groups.boxes[group], elements);
    if (fills) joined.push_back(groups.boxes[group]);
    for (const std::size_t one : members[group]) {
      if (!fills) joined.push_back(boxes.boxes[one]);
      place[one] = joined.size() - 1;
    }
  }
  for (std::size_t& box : boxes.box_of) box = place[box];
  boxes.boxes = std::move(joined);
}

}  // namespace bento
