// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The chunks that a program has asked for. Records do not follow them, but for columns of tables
/// (table_columns.hpp) and pieces that go through filters: only HDF5's calls that name chunks do.
#pragma once

#include <cstdint>

#include "core/base/error.hpp"
#include "core/geometry/box.hpp"
#include "hdf5/base/handle.hpp"
#include "vol/file/dataset_state.hpp"

namespace bento::vol {

/// The user's chunk grid over the current extent.
struct ChunkGrid {
  PlistHandle dcpl;
  Dims extent;
  Dims chunk;
  Dims counts;              ///< chunks along each dimension
  std::uint64_t total = 0;  ///< chunks

  [[nodiscard]] Dims coordinates(std::uint64_t index) const {
    Dims at(counts.rank());
    for (unsigned d = counts.rank(); d-- > 0;) {
      at[d] = index % counts[d];
      index /= counts[d];
    }
    return at;
  }
  [[nodiscard]] std::uint64_t index(const Dims& at) const {
    std::uint64_t index = 0;
    for (unsigned d = 0; d < counts.rank(); ++d) index = index * counts[d] + at[d];
    return index;
  }
  /// Elements of a chunk, also those outside the extent.
  [[nodiscard]] Box whole_chunk(const Dims& at) const {
    Box box{Dims(at.rank()), chunk};
    for (unsigned d = 0; d < at.rank(); ++d) box.start[d] = at[d] * chunk[d];
    return box;
  }
};

/// Errors: kInvalidArgument (the dataset is not chunked), kCorrupt, kUnsupported (too many chunks).
Result<ChunkGrid> grid_of(Object* object, DatasetState& state);

/// Container::find(), of one step also beside a writer.
Result<RecordLookup> find_of_one_step(DatasetState& state, const Box& box);

}  // namespace bento::vol
