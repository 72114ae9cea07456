// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Questions to a run that are answered by arithmetic, without going through its records.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory_resource>
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

  using Memory = RecordRun::Memory;

  /// What it holds lies in `memory`. Errors: kCorrupt (a box that leaves [0, 2^63)).
  static Result<RunView> make(const RecordRun& run, unsigned rank,
                              Memory memory = std::pmr::get_default_resource());

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
    explicit Node(Memory memory) : shift(memory), low(memory), high(memory), body(memory) {}
    std::uint64_t power = 1;
    std::uint64_t records = 1;              ///< of one turn
    std::pmr::vector<std::uint64_t> shift;  ///< added to each number of the row by one turn
    /// Smallest start in a turn, minus that of its first record; and largest end.
    std::pmr::vector<std::int64_t> low;
    std::pmr::vector<std::int64_t> high;
    std::pmr::vector<Node> body;  ///< empty in a leaf
  };
  struct Loop {
    std::uint64_t times;
    std::array<std::int64_t, kMaxRank> stride;
  };
  explicit RunView(Memory memory) : list_(memory) {}
  [[nodiscard]] Memory memory() const { return list_.get_allocator().resource(); }
  [[nodiscard]] std::int64_t start_shift(const Node& node, unsigned d) const {
    return static_cast<std::int64_t>(node.shift[d]);
  }
  [[nodiscard]] std::int64_t end_shift(const Node& node, unsigned d) const {
    return static_cast<std::int64_t>(node.shift[d] + node.shift[rank_ + d]);
  }
  [[nodiscard]] bool keeps_shape(const Node& node) const;
  Status annotate(const RecordRun& run, std::span<const RunToken> list,
                  std::pmr::vector<Node>& nodes) const;
  Status sum_up(std::span<const Node> list, Node& out) const;
  Status find_in(std::span<const Node> list, Row row, std::uint64_t ordinal, const Box& selection,
                 QueryBudget& budget, const Visit& visit) const;
  struct Span;
  [[nodiscard]] Span span_of(const Node& node, const Row& row, std::uint64_t power) const;
  [[nodiscard]] std::vector<Span> parts_in(const Box& box) const;
  bool all_apart(std::span<const Node> list, Row row, Overlap allowed, QueryBudget& budget) const;
  bool all_apart(const Node& node, const Row& row, std::uint64_t power, Overlap allowed,
                 QueryBudget& budget) const;
  bool apart(const Span& a, const Span& b, Overlap allowed, QueryBudget& budget) const;
  bool as_loops(std::span<const Node> list, std::pmr::vector<Loop>& loops) const;
  [[nodiscard]] bool disjoint_lattice() const;
  bool add_volume(std::span<const Node> list, Row row, std::uint64_t& sum) const;

  unsigned rank_ = 0;
  unsigned width_ = 0;
  std::uint64_t records_ = 0;
  Row first_{};
  bool same_collective_ = true;  ///< of all records
  std::pmr::vector<Node> list_;  ///< ends with a leaf for the last record
  Box bounds_;
};

}  // namespace bento
