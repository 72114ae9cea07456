// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The table of a native view: which places in physical file 0 hold its metadata, so that they are
/// not written again while it is in use, and a hash that tells whether another program changed it.
/// Source: docs/format.md, "Catalogue".
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/catalogue/catalogue.hpp"
#include "core/catalogue/catalogue_space.hpp"

namespace bento {

/// Whole blocks of a physical file, the chunks of all its tasks, that hold one run of a native
/// view's bytes: pieces that fit no chunk.
struct ViewBlocks {
  std::uint64_t first = 0;  ///< number of the first block
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  ///< in use, from where the first block begins
  bool operator==(const ViewBlocks&) const = default;

  /// The first block that is not one of these.
  [[nodiscard]] std::uint64_t end() const { return first + count; }
  /// The catalogue's own chunks of them.
  [[nodiscard]] CatalogueRange range(std::uint64_t chunk_bytes) const {
    return {first * chunk_bytes, end() * chunk_bytes};
  }
};

/// A view that a newer one has followed, and that a plain reader may still have open.
struct EarlierView {
  std::uint64_t step = 0;         ///< absolute; what it shows
  std::uint64_t followed_ns = 0;  ///< when the newer one came, CLOCK_REALTIME
  std::vector<CatalogueRange> ranges;
  bool operator==(const EarlierView&) const = default;
};

struct ViewTable {
  Hash128 hash{};  ///< of what lies in `ranges`, then in `blocks`
  std::vector<CatalogueRange> ranges;
  std::vector<ViewBlocks> blocks;
  std::optional<std::uint64_t> step;  ///< absolute, that it shows; files of before do not say
  /// Made with view=commit: plain readers may keep it open beside a writer.
  bool live = false;
  std::vector<EarlierView> earlier;
  /// Since when there are no new ones of which nobody knows the places, CLOCK_REALTIME; 0: there
  /// are none of those.
  std::uint64_t unknown_since_ns = 0;

  /// Everything of the catalogue that the view takes.
  [[nodiscard]] std::vector<CatalogueRange> in_use(std::uint64_t chunk_bytes) const;
};

std::vector<std::byte> encode_view_table(const ViewTable& table);
/// Errors: kCorrupt.
Result<ViewTable> decode_view_table(std::span<const std::byte> bytes);

/// What `table.hash` should be. Errors: kIo, kCorrupt (outside the file, more than the file has).
Result<Hash128> hash_of_view(File& file, const FilePlan& plan, const ViewTable& table);

}  // namespace bento
