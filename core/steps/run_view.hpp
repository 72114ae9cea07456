// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Questions to a run that are answered by arithmetic, without going through its records.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/geometry/box.hpp"
#include "core/records/query_budget.hpp"
#include "core/steps/record_run.hpp"

namespace bento {

class RunView {
 public:
  using Visit = std::function<Status(std::uint64_t ordinal, std::span<const std::uint64_t> row)>;

  /// Errors: kCorrupt (a box that leaves [0, 2^63)).
  static Result<RunView> make(const RecordRun& run, unsigned rank);

  [[nodiscard]] std::uint64_t records() const { return records_; }
  /// The smallest box around all records.
  [[nodiscard]] const Box& bounds() const { return bounds_; }
  /// Calls visit(position in the run, row) for the records that overlap `selection`. Cost O(tokens
  /// + hits * depth). Errors: visit's, the budget's.
  Status find(const Box& selection, QueryBudget& budget, const Visit& visit) const;
  /// Which records may overlap.
  enum class Overlap {
    kNone,
    kOfOneRank,
    kOfOneRankOrOrdered,  ///< also of different ranks, with different collective counts
  };
  /// True only if no two records overlap but those that may (in this run; in this one and `other`).
  /// False also once `budget` is used up.
  [[nodiscard]] bool apart(Overlap allowed, QueryBudget& budget) const;
  [[nodiscard]] bool apart(const RunView& other, Overlap allowed, QueryBudget& budget) const;
  /// Elements of all boxes together, if the run has few enough shapes to add them up; else 0.
  [[nodiscard]] std::uint64_t volume() const;

 private:
  /// A loop of `power` turns. A turn gives the records of `body` (of a leaf: one record), and then
  /// adds `shift` to the row with which it began; the next turn begins with the sum. So the bounds
  /// of a loop over the rows of a grid are exact, if it begins with a whole row of the grid.
  struct Node {
    std::uint64_t power = 1;
    std::uint64_t records = 1;         ///< of one turn
    std::vector<std::uint64_t> shift;  ///< added to each number of the row by one turn
    std::vector<std::int64_t> low;     ///< smallest start in a turn, minus that of its first record
    std::vector<std::int64_t> high;    ///< largest end in a turn, minus that of its first record
    std::vector<Node> body;            ///< empty in a leaf
  };
  struct Loop {
    std::uint64_t times;
    std::vector<std::int64_t> stride;
  };
  [[nodiscard]] std::int64_t start_shift(const Node& node, unsigned d) const {
    return static_cast<std::int64_t>(node.shift[d]);
  }
  [[nodiscard]] std::int64_t end_shift(const Node& node, unsigned d) const {
    return static_cast<std::int64_t>(node.shift[d] + node.shift[rank_ + d]);
  }
  [[nodiscard]] bool keeps_shape(const Node& node) const;
  Status annotate(const RecordRun& run, const std::vector<RunToken>& list,
                  std::vector<Node>& nodes) const;
  Status sum_up(const std::vector<Node>& list, Node& out) const;
  Status find_in(const std::vector<Node>& list, Row row, std::uint64_t ordinal,
                 const Box& selection, QueryBudget& budget, const Visit& visit) const;
  struct Span;
  [[nodiscard]] Span span_of(const Node& node, const Row& row, std::uint64_t power) const;
  [[nodiscard]] std::vector<Span> parts_in(const Box& box) const;
  bool all_apart(const std::vector<Node>& list, Row row, Overlap allowed,
                 QueryBudget& budget) const;
  bool all_apart(const Node& node, const Row& row, std::uint64_t power, Overlap allowed,
                 QueryBudget& budget) const;
  bool apart(const Span& a, const Span& b, Overlap allowed, QueryBudget& budget) const;
  bool as_loops(const std::vector<Node>& list, std::vector<Loop>& loops) const;
  [[nodiscard]] bool disjoint_lattice() const;
  bool add_volume(const std::vector<Node>& list, Row row, std::uint64_t& sum) const;

  unsigned rank_ = 0;
  unsigned width_ = 0;
  std::uint64_t records_ = 0;
  Row first_{};
  bool same_collective_ = true;  ///< of all records
  std::vector<Node> list_;       ///< ends with a leaf for the last record
  Box bounds_;
};

}  // namespace bento
