// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The holes of a catalogue, by position, in a tree that knows how large the largest one below each
/// of its nodes is: the first hole that is large enough is found without a look at those that are
/// not. Commits leave thousands of small ones. Arithmetic only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/layout/plan.hpp"

namespace bento {

/// Positions [begin, end) of a catalogue.
struct CatalogueRange {
  Position begin = 0;
  Position end = 0;
  bool operator==(const CatalogueRange&) const = default;
};

/// Ranges that do not touch each other. Equal calls leave equal trees.
class Holes {
 public:
  /// Makes a range free of which nothing is free yet: one hole with those that it touches.
  void add(CatalogueRange range);
  /// Takes from the hole that begins at `hole` a part of it; what is left stays.
  void take(const CatalogueRange& hole, const CatalogueRange& part);

  /// The first hole of at least `bytes` that begins at `from` or later.
  [[nodiscard]] std::optional<CatalogueRange> first(std::uint64_t bytes, Position from = 0) const;
  [[nodiscard]] std::optional<CatalogueRange> last() const;
  /// All of them, ascending.
  [[nodiscard]] std::vector<CatalogueRange> all() const;
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = 0;  ///< nodes_[0] stands for no node

  /// A treap: by `range` a search tree, by `priority` a heap.
  struct Node {
    CatalogueRange range;
    std::uint64_t largest = 0;  ///< bytes of the largest hole here and below
    std::uint32_t priority = 0;
    Index left = kNone;
    Index right = kNone;
  };
  void update(Index node);
  [[nodiscard]] Index make(const CatalogueRange& range);
  /// `left` gets what begins before `position`, `right` the rest.
  void split(Index node, Position position, Index& left, Index& right);
  [[nodiscard]] Index join(Index left, Index right);
  void insert(const CatalogueRange& range);
  void erase(Position begin);
  [[nodiscard]] Index erased(Index node, Position begin);
  [[nodiscard]] Index first_in(Index node, std::uint64_t bytes, Position from) const;
  /// The hole that begins last before `position`.
  [[nodiscard]] std::optional<CatalogueRange> before(Position position) const;

  std::vector<Node> nodes_{Node{}};
  std::vector<Index> unused_;  ///< of nodes_
  Index root_ = kNone;
  std::uint64_t bytes_ = 0;
  std::uint64_t random_ = 0;
};

}  // namespace bento
