// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which positions of a catalogue nothing refers to. Space is taken from holes first, then from the
/// end; what a newer root no longer refers to becomes holes when somebody has looked at everything
/// that is in use (catalogue_sweep). Arithmetic only.
#pragma once

#include <cstdint>
#include <vector>

#include "core/container/plan.hpp"

namespace bento {

/// Positions [begin, end) of a catalogue.
struct CatalogueRange {
  Position begin = 0;
  Position end = 0;
  bool operator==(const CatalogueRange&) const = default;
};

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
  /// Takes back what was taken and not used.
  void give_back(CatalogueRange range);

  /// Everything below end() that is not in `used` (in any order, overlaps allowed) becomes free.
  /// Returns the bytes in use.
  std::uint64_t keep_only(std::vector<CatalogueRange> used);
  [[nodiscard]] std::uint64_t free_bytes() const;
  /// Bytes taken since keep_only(), or since the beginning.
  [[nodiscard]] std::uint64_t taken_bytes() const { return taken_; }

 private:
  std::vector<CatalogueRange> holes_;  ///< ascending, apart from each other
  Position end_ = 0;
  std::uint64_t taken_ = 0;
};

}  // namespace bento
