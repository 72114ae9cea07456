// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/data/stored_chunks.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/base/quiet_errors.hpp"

namespace bento::vol {

namespace {

struct Found {
  unsigned rank = 0;
  std::vector<StoredChunk> chunks;
};

int note_chunk(const hsize_t* offset, unsigned mask, haddr_t address, hsize_t bytes, void* data) {
  try {
    auto& found = *static_cast<Found*>(data);
    found.chunks.push_back({{offset, offset + found.rank}, mask, address, bytes});
    return H5_ITER_CONT;
  } catch (...) {
    return H5_ITER_ERROR;
  }
}

/// The dimensions of a dataset, counted in chunks.
struct Grid {
  Dims chunk;
  std::vector<hsize_t> most;  ///< chunks in each dimension; 0: no limit
  unsigned unlimited = 0;     ///< if one dimension is: which
};

/// Nothing if the first dimension is the only unlimited one, or not exactly one is.
Result<std::optional<Grid>> grid_with_late_growth(hid_t dataset, unsigned rank) {
  std::array<hsize_t, kMaxRank> limit{};
  const SpaceHandle space(H5Dget_space(dataset));
  const PlistHandle list(H5Dget_create_plist(dataset));
  if (H5Sget_simple_extent_dims(space.get(), nullptr, limit.data()) != static_cast<int>(rank))
    return fail(Code::kInternal, "the limits of a dataset's extent are unreadable");
  Grid grid;
  BENTO_ASSIGN(grid.chunk, chunk_shape(list.get(), rank));
  unsigned unlimited = 0;
  for (unsigned d = 0; d < rank; ++d) {
    const bool ends = limit[d] != H5S_UNLIMITED;
    grid.most.push_back(ends ? (limit[d] + grid.chunk[d] - 1) / grid.chunk[d] : 0);
    if (ends) continue;
    ++unlimited;
    grid.unlimited = d;
  }
  if (unlimited != 1 || grid.unlimited == 0) return std::optional<Grid>();
  return std::optional(std::move(grid));
}

/// In what was told, the dimensions before the unlimited one are counted within it.
std::vector<hsize_t> meant_offset(const Grid& grid, std::vector<hsize_t> told) {
  hsize_t number = told[grid.unlimited] / grid.chunk[grid.unlimited];
  for (unsigned d = grid.unlimited; d-- > 0;) {
    told[d] = number % grid.most[d] * grid.chunk[d];
    number /= grid.most[d];
  }
  told[grid.unlimited] = number * grid.chunk[grid.unlimited];
  return told;
}

/// Asked by way of the index, which knows its order.
bool is_there(hid_t dataset, const StoredChunk& chunk) {
  hsize_t bytes = 0;
  return H5Dget_chunk_storage_size(dataset, chunk.offset.data(), &bytes) >= 0 &&
         bytes == chunk.bytes;
}

}  // namespace

Result<Dims> chunk_shape(hid_t dcpl, unsigned rank) {
  std::array<hsize_t, kMaxRank> sizes{};
  if (H5Pget_chunk(dcpl, static_cast<int>(sizes.size()), sizes.data()) != static_cast<int>(rank))
    return fail(Code::kInternal, "the shape of a dataset's chunks is unreadable");
  Dims shape(rank);
  for (unsigned d = 0; d < rank; ++d) {
    shape[d] = sizes[d];
    if (shape[d] == 0) return fail(Code::kCorrupt, "a chunk of no elements");
  }
  return shape;
}

// Of a library that tells the right places, and of the formats of which this one does, the others
// are not there: some chunk of them lies where nothing is.
Result<std::vector<StoredChunk>> stored_chunks(hid_t dataset) {
  Found found;
  {
    const SpaceHandle space(H5Dget_space(dataset));
    const int rank = H5Sget_simple_extent_ndims(space.get());
    found.rank = static_cast<unsigned>(std::max(rank, 0));
    if (rank < 1 || H5Dchunk_iter(dataset, H5P_DEFAULT, note_chunk, &found) < 0)
      return fail(Code::kInternal, "its chunks cannot be listed: " + innermost_error());
  }
  BENTO_ASSIGN(const auto grid, grid_with_late_growth(dataset, found.rank));
  const auto may_be_wrong = [&](const StoredChunk& chunk) {
    return std::all_of(chunk.offset.begin(), chunk.offset.begin() + grid->unlimited,
                       [](hsize_t at) { return at == 0; });
  };
  if (!grid || !std::ranges::all_of(found.chunks, may_be_wrong)) return std::move(found.chunks);
  std::vector<StoredChunk> meant = found.chunks;
  for (StoredChunk& chunk : meant) chunk.offset = meant_offset(*grid, std::move(chunk.offset));
  const QuietErrors quiet;
  const bool right =
      std::ranges::all_of(meant, [&](const auto& chunk) { return is_there(dataset, chunk); });
  return right ? std::move(meant) : std::move(found.chunks);
}

}  // namespace bento::vol
