// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/allocated_chunks.hpp"

#include <optional>

#include <fmt/format.h>

#include "hdf5/data/filtered_record.hpp"

namespace bento::vol {

/// What was found, and when it was.
struct KnownChunks {
  std::uint64_t content = 0;  ///< Container::content_version()
  std::uint64_t extent = 0;   ///< FileContext::extent_version()
  ChunkList list;
};

// Natively, parallel files allocate everything at creation, or when it is opened, but not chunks
// that have filters.
bool allocated_here(const DatasetState& state, hid_t dcpl) {
  return allocated_early(state.flags) ||
         (state.file->access().parallel && H5Pget_nfilters(dcpl) <= 0);
}

namespace {

/// The first write allocates all chunks, whatever it selects.
bool allocated_together(hid_t dcpl) {
  H5D_alloc_time_t when = H5D_ALLOC_TIME_DEFAULT;
  return H5Pget_alloc_time(dcpl, &when) >= 0 && when == H5D_ALLOC_TIME_LATE;
}

/// A record lies in the file, so that it touches no more chunks than it has bytes there; a filtered
/// one lies in a single chunk.
Status check_touching(DatasetState& state, const ChunkGrid& grid, const Record& record) {
  if (record.encoding == Encoding::kFiltered) return check_filtered(record, grid.chunk);
  constexpr std::uint64_t kFew = 1u << 20;
  if (record.stored_bytes <= kFew) return {};
  BENTO_ASSIGN(const std::uint64_t room, state.file->container().room());
  if (record.stored_bytes <= room) return {};
  return fail(Code::kCorrupt,
              fmt::format("a record of {} bytes in files of {}", record.stored_bytes, room));
}

Result<ChunkList> find_chunks(DatasetState& state, const ChunkGrid& grid) {
  if (allocated_here(state, grid.dcpl.get())) return ChunkList(grid.total);
  std::set<std::uint64_t> found;
  if (grid.total == 0) return ChunkList(found);
  BENTO_ASSIGN(const RecordLookup lookup, find_of_one_step(state, Box::whole(grid.extent)));
  if (allocated_together(grid.dcpl.get()) &&
      (!lookup.pieces.empty() || state.file->written_together(state.number)))
    return ChunkList(grid.total);
  for (const auto& piece : lookup.pieces) {
    BENTO_TRY(check_touching(state, grid, lookup.records[piece.record]));
    Box touched{Dims(grid.counts.rank()), Dims(grid.counts.rank())};
    for (unsigned d = 0; d < grid.counts.rank(); ++d) {
      touched.start[d] = piece.part.start[d] / grid.chunk[d];
      touched.count[d] =
          (piece.part.start[d] + piece.part.count[d] - 1) / grid.chunk[d] + 1 - touched.start[d];
    }
    for (std::uint64_t i = 0; i < touched.elements(); ++i) {
      Dims at(grid.counts.rank());
      std::uint64_t rest = i;
      for (unsigned d = at.rank(); d-- > 0;) {
        at[d] = touched.start[d] + rest % touched.count[d];
        rest /= touched.count[d];
      }
      found.insert(grid.index(at));
    }
    if (found.size() == grid.total) break;
  }
  return ChunkList(found);
}

}  // namespace

Result<std::shared_ptr<const ChunkList>> allocated_chunks(DatasetState& state,
                                                          const ChunkGrid& grid) {
  const Container& container = state.file->container();
  const bool settled = container.only_committed(state.number);
  const std::uint64_t content = container.content_version();
  const std::uint64_t extent = state.file->extent_version();
  const auto& known = state.chunks;
  if (!settled || !known || known->content != content || known->extent != extent) {
    BENTO_ASSIGN(ChunkList list, find_chunks(state, grid));
    auto found = std::make_shared<const KnownChunks>(KnownChunks{content, extent, std::move(list)});
    if (!settled || container.content_version() != content)
      return std::shared_ptr<const ChunkList>(found, &found->list);
    state.chunks = std::move(found);
  }
  return std::shared_ptr<const ChunkList>(state.chunks, &state.chunks->list);
}

Result<bool> is_allocated(DatasetState& state, const ChunkGrid& grid, const Dims& at) {
  if (allocated_here(state, grid.dcpl.get())) return true;
  const bool together = allocated_together(grid.dcpl.get());
  if (together && state.file->written_together(state.number)) return true;
  const Box whole = Box::whole(grid.extent);
  BENTO_ASSIGN(const RecordLookup own,
               find_of_one_step(state, intersect(grid.whole_chunk(at), whole)));
  if (!own.pieces.empty() || !together) return !own.pieces.empty();
  BENTO_ASSIGN(const RecordLookup all, find_of_one_step(state, whole));
  return !all.pieces.empty();
}

}  // namespace bento::vol
