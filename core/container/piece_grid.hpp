// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Pieces of a dataset that can be the chunks of an ordinary chunked dataset, because they are
/// equal boxes of one grid. Arithmetic only; no I/O. Source: docs/format.md, "Native view".
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/container/pieces.hpp"

namespace bento {

/// A chunk that lies in the first physical file already.
struct ViewChunk {
  Dims start;                 ///< of its first element in the dataset
  std::uint64_t address = 0;  ///< absolute
  std::uint64_t bytes = 0;    ///< as stored
  std::uint32_t filter_mask = 0;
};

struct ViewGrid {
  Dims chunk;                     ///< elements of a chunk along each dimension
  std::vector<ViewChunk> chunks;  ///< by where they begin in the dataset, mostly
  /// All other chunks with elements that somebody wrote, cut to the extent.
  std::vector<Box> copied;
  std::uint64_t copied_bytes = 0;  ///< of their elements
};

/// `filters`: has the dataset any? Then plain pieces are no chunks. Nothing if the pieces make no
/// grid: then more would have to be copied than a sixteenth of what is in place (or 64 KiB), or
/// HDF5 allows no such chunks.
std::optional<ViewGrid> view_grid(const ViewPieces& pieces, const Dims& extent,
                                  std::uint64_t element_bytes, bool filters);

}  // namespace bento
