// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A dataset as stock HDF5 will see it: runs of bytes in physical files (sources) and which boxes
/// of the dataset they fill (mappings). Arithmetic on index and layout; no I/O. Source:
/// docs/format.md, "Native view".
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/error.hpp"
#include "core/layout/plan.hpp"
#include "core/records/resolve.hpp"

namespace bento {

/// One run of bytes in a physical file: the elements of `shape` in row-major order.
struct ViewSource {
  std::uint32_t file = 0;     ///< physical file
  std::uint64_t address = 0;  ///< absolute, in that file
  std::uint64_t bytes = 0;    ///< as stored
  Dims shape;
  Encoding encoding = Encoding::kPlain;
  std::uint32_t filter_mask = 0;
};

/// Elements `from` of a source are elements `to` of the dataset. With `repeat` > 1 the destination
/// is `repeat` boxes like `to`, `stride` elements apart along dimension `dim`, and `from` holds
/// them one after the other along the same dimension.
struct ViewMapping {
  std::size_t source = 0;
  Box from;
  Box to;
  unsigned dim = 0;
  std::uint64_t repeat = 1;
  std::uint64_t stride = 1;
};

struct ViewPieces {
  std::vector<ViewSource> sources;
  std::vector<ViewMapping> mappings;  ///< disjoint in the dataset
};

/// `seen` is what a lookup found of a dataset. Parts of one record are merged, and neighbours where
/// they are neighbours in the file too. Errors: kCorrupt (a record outside the layout).
Result<ViewPieces> view_pieces(const RecordLookup& seen, const ContainerPlan& plan);

}  // namespace bento
