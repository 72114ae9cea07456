// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which positions of a catalogue nothing refers to. Space is taken from holes first, then from the
/// end; what a newer root no longer refers to becomes holes when somebody has looked at everything
/// that is in use (catalogue_sweep) and nobody can come there by an older root. Arithmetic only.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/catalogue/holes.hpp"
#include "core/layout/plan.hpp"

namespace bento {

/// The same positions in as few ranges as possible, ascending.
std::vector<CatalogueRange> joined(std::vector<CatalogueRange> ranges);

class CatalogueSpace {
 public:
  CatalogueSpace() = default;
  explicit CatalogueSpace(Position end) : end_(end) {}

  /// Behind everything ever taken.
  [[nodiscard]] Position end() const { return end_; }
  /// Nothing is taken in front of `position` from the end on.
  void begin_behind(Position position);

  /// `bytes` in one run, which may cross chunk ends.
  Position take(std::uint64_t bytes);
  /// `bytes` (at most a chunk) inside one chunk, 8-byte aligned.
  Position take_in_chunk(std::uint64_t bytes, std::uint64_t chunk_bytes);
  /// The same, behind everything ever taken.
  Position take_behind(std::uint64_t bytes, std::uint64_t chunk_bytes);
  /// `count` whole chunks in a row, of those of which `usable` says so. Returns the number of the
  /// first.
  std::uint64_t take_chunks(std::uint64_t count, std::uint64_t chunk_bytes,
                            const std::function<bool(std::uint64_t)>& usable);
  /// Takes back what was taken and not used.
  void give_back(CatalogueRange range);

  /// What lies below end() and is neither in `used` (in any order, overlaps allowed) nor free
  /// already. Counting of taken bytes begins anew.
  std::vector<CatalogueRange> unused(std::vector<CatalogueRange> used);
  /// Makes ranges free that unused() has found.
  void release(std::span<const CatalogueRange> ranges);
  [[nodiscard]] std::uint64_t free_bytes() const { return holes_.bytes(); }
  /// Bytes taken since unused(), or since the beginning.
  [[nodiscard]] std::uint64_t taken_bytes() const { return taken_; }

 private:
  void add_hole(const CatalogueRange& range);

  Holes holes_;  ///< none touches the end
  Position end_ = 0;
  std::uint64_t taken_ = 0;
};

}  // namespace bento
