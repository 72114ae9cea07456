// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/chunk_grid.hpp"

#include <array>

#include "vol/data/box_data.hpp"
#include "vol/file/native_dataset.hpp"
#include "vol/file/swmr.hpp"

namespace bento::vol {

Result<ChunkGrid> grid_of(Object* object, DatasetState& state) {
  ChunkGrid grid;
  BENTO_ASSIGN(grid.dcpl, native_dcpl(object));
  BENTO_ASSIGN(grid.extent, state.extent(object));
  std::array<hsize_t, kMaxRank> dims{};
  const int rank = H5Pget_layout(grid.dcpl.get()) == H5D_CHUNKED
                       ? H5Pget_chunk(grid.dcpl.get(), kMaxRank, dims.data())
                       : -1;
  if (rank != static_cast<int>(grid.extent.rank()))
    return fail(Code::kInvalidArgument, "the dataset is not chunked");
  grid.chunk = Dims(grid.extent.rank());
  grid.counts = Dims(grid.extent.rank());
  for (unsigned d = 0; d < grid.extent.rank(); ++d) {
    if (dims[d] == 0) return fail(Code::kCorrupt, "a chunk of no elements");
    grid.chunk[d] = dims[d];
    grid.counts[d] = grid.extent[d] / dims[d] + (grid.extent[d] % dims[d] != 0 ? 1 : 0);
  }
  const auto total = grid.counts.checked_product();
  if (!total) return fail(Code::kUnsupported, "the dataset has more chunks than 64 bits count");
  grid.total = *total;
  return grid;
}

Result<RecordLookup> find_of_one_step(DatasetState& state, const Box& box) {
  Container& container = state.file->container();
  return read_of_one_step(container, [&] { return container.find(state.number, box); });
}

}  // namespace bento::vol
