// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/offline/live_records.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include <fmt/format.h>

namespace bento {

namespace {

using Numbers = std::vector<std::uint32_t>;  // of records

class LiveRecords {
 public:
  LiveRecords(const Index& index, DatasetNumber dataset)
      : index_(index),
        dataset_(dataset),
        rank_(index.find(dataset)->rank),
        corners_(index.visible_corners(dataset)),
        live_(index.size(dataset), false) {}

  Result<std::vector<bool>> run() {
    Numbers all;
    for (std::size_t i = 0; i < live_.size(); ++i)
      if (!empty(i)) all.push_back(static_cast<std::uint32_t>(i));
    BENTO_TRY(separate(std::move(all)));
    return std::move(live_);
  }

 private:
  [[nodiscard]] std::uint64_t start(std::size_t i, unsigned d) const {
    return corners_[i * 2 * rank_ + d];
  }
  [[nodiscard]] std::uint64_t count(std::size_t i, unsigned d) const {
    return corners_[i * 2 * rank_ + rank_ + d];
  }
  [[nodiscard]] bool empty(std::size_t i) const {
    for (unsigned d = 0; d < rank_; ++d)
      if (count(i, d) == 0) return true;
    return false;
  }
  [[nodiscard]] Box box(std::size_t i) const {
    return {Dims(corners_.subspan(i * 2 * rank_, rank_)),
            Dims(corners_.subspan(i * 2 * rank_ + rank_, rank_))};
  }

  /// Cuts a group by planes that cross no box, again and again. Boxes that end up alone overlap no
  /// other; any regular decomposition falls apart completely.
  Status separate(Numbers group) {
    std::vector<Numbers> todo;
    todo.push_back(std::move(group));
    while (!todo.empty()) {
      Numbers now = std::move(todo.back());
      todo.pop_back();
      if (now.size() == 1) live_[now.front()] = true;
      if (now.size() < 2) continue;
      bool cut = false;
      for (unsigned d = 0; d < rank_ && !cut; ++d) cut = cut_along(d, now, todo);
      if (!cut) BENTO_TRY(overlapping(std::move(now)));
    }
    return {};
  }

  bool cut_along(unsigned d, Numbers& group, std::vector<Numbers>& parts) {
    const auto before = [&](std::uint32_t a, std::uint32_t b) { return start(a, d) < start(b, d); };
    if (!std::is_sorted(group.begin(), group.end(), before))
      std::sort(group.begin(), group.end(), before);
    std::uint64_t end = start(group.front(), d) + count(group.front(), d);
    std::size_t first = 0;
    for (std::size_t i = 1; i < group.size(); ++i) {
      if (start(group[i], d) >= end) {
        take(group, first, i, parts);
        first = i;
      }
      end = std::max(end, start(group[i], d) + count(group[i], d));
    }
    if (first == 0) return false;
    take(group, first, group.size(), parts);
    return true;
  }

  void take(const Numbers& group, std::size_t first, std::size_t end, std::vector<Numbers>& parts) {
    if (end - first == 1)
      live_[group[first]] = true;
    else
      parts.emplace_back(group.begin() + static_cast<std::ptrdiff_t>(first),
                         group.begin() + static_cast<std::ptrdiff_t>(end));
  }

  /// Boxes that no plane separates. Of equal ones only the newest can be seen, which settles a
  /// decomposition that is written again and again; the rest is asked one by one.
  Status overlapping(Numbers group) {
    std::sort(group.begin(), group.end(), [&](std::uint32_t a, std::uint32_t b) {
      const int order = compare_boxes(a, b);
      return order != 0 ? order < 0 : newer(a, b);
    });
    const std::size_t all = group.size();
    group.erase(
        std::unique(group.begin(), group.end(),
                    [&](std::uint32_t a, std::uint32_t b) { return compare_boxes(a, b) == 0; }),
        group.end());
    if (group.size() < all) return separate(std::move(group));
    for (const std::uint32_t i : group) {
      BENTO_ASSIGN(const Lookup seen, index_.find(dataset_, box(i)));
      live_[i] = std::any_of(seen.pieces.begin(), seen.pieces.end(),
                             [&](const Piece& piece) { return piece.record == i; });
    }
    return {};
  }

  [[nodiscard]] int compare_boxes(std::uint32_t a, std::uint32_t b) const {
    for (unsigned k = 0; k < 2 * rank_; ++k) {
      const std::uint64_t left = corners_[std::size_t{a} * 2 * rank_ + k];
      const std::uint64_t right = corners_[std::size_t{b} * 2 * rank_ + k];
      if (left != right) return left < right ? -1 : 1;
    }
    return 0;
  }

  [[nodiscard]] bool newer(std::uint32_t a, std::uint32_t b) const {
    const Order first = index_.order(dataset_, a);
    const Order second = index_.order(dataset_, b);
    return first != second ? first > second : a > b;  // as Index::find() breaks the tie
  }

  const Index& index_;
  DatasetNumber dataset_;
  unsigned rank_;
  std::span<const std::uint64_t> corners_;
  std::vector<bool> live_;
};

}  // namespace

Result<std::vector<bool>> live_records(const Index& index, DatasetNumber dataset) {
  if (index.find(dataset) == nullptr)
    return fail(Code::kCorrupt, fmt::format("index: dataset {} is not declared", dataset));
  return LiveRecords(index, dataset).run();
}

}  // namespace bento
