// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The tree of pages in which a segment stores its records: leaves as they are added, and above
/// them pages that say what lies below. Source: docs/format.md, "Step index".
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/error.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/steps/blob.hpp"
#include "core/steps/segment_page.hpp"

namespace bento {

/// Where a segment's topmost page lies. Persistent: never renumber.
enum PagePlace : std::uint8_t { kNoPage = 0, kPageInside = 1, kPageOutside = 2 };

/// Makes `bounds` the smallest box that holds `box`, too; `first`: there was none.
void grow(Box& bounds, const Box& box, bool first);

class PageTree {
 public:
  PageTree(SegmentSink& sink, unsigned rank);

  /// A page of records with these bounds. Errors: those of the sink.
  Status add_leaf(std::vector<std::byte> page, std::uint64_t records, const Box& bounds);
  /// Stores the pages above the leaves, until one is left. Errors: those of the sink.
  Status join();
  /// Where the topmost page lies; a small one that is the only one itself.
  void put_root(ByteWriter& out) const;

  [[nodiscard]] std::uint64_t records() const { return records_; }
  [[nodiscard]] const Box& bounds() const { return bounds_; }

 private:
  Result<PageEntry> store(std::span<const std::byte> page, std::uint64_t records,
                          const Box& bounds);

  SegmentSink* sink_;
  std::vector<PageEntry> level_;
  std::vector<std::byte> only_;  ///< the first leaf, for as long as it is small and the only one
  std::uint64_t records_ = 0;
  Box bounds_;
};

}  // namespace bento
