// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/dataset_chunks.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <span>

#include <H5VLnative.h>
#include <fmt/format.h>

#include "hdf5/base/chunk_arguments.hpp"
#include "hdf5/data/filtered_record.hpp"
#include "vol/data/box_data.hpp"
#include "vol/data/dataset_offset.hpp"
#include "vol/data/variable_transfer.hpp"
#include "vol/file/native_dataset.hpp"

namespace bento::vol {

namespace {

/// The user's chunk grid over the current extent.
struct Grid {
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

Result<Grid> grid_of(Object* object, DatasetState& state) {
  Grid grid;
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

/// Natively, parallel files allocate everything at creation, or when it is opened, but not chunks
/// that have filters.
bool allocated_here(const DatasetState& state, hid_t dcpl) {
  return allocated_early(state.flags) ||
         (state.file->access().parallel && H5Pget_nfilters(dcpl) <= 0);
}

/// The first write allocates all chunks, whatever it selects.
bool allocated_together(hid_t dcpl) {
  H5D_alloc_time_t when = H5D_ALLOC_TIME_DEFAULT;
  return H5Pget_alloc_time(dcpl, &when) >= 0 && when == H5D_ALLOC_TIME_LATE;
}

/// Indices of the chunks that exist.
class ChunkList {
 public:
  /// The first `count`.
  explicit ChunkList(std::uint64_t count) : count_(count), all_(true) {}
  explicit ChunkList(const std::set<std::uint64_t>& found)
      : count_(found.size()), some_(found.begin(), found.end()) {}

  [[nodiscard]] std::uint64_t size() const { return count_; }
  /// The n-th, ascending.
  [[nodiscard]] std::uint64_t operator[](std::uint64_t n) const {
    return all_ ? n : some_[static_cast<std::size_t>(n)];
  }
  [[nodiscard]] bool contains(std::uint64_t index) const {
    return all_ ? index < count_ : std::binary_search(some_.begin(), some_.end(), index);
  }

 private:
  std::uint64_t count_;
  bool all_ = false;
  std::vector<std::uint64_t> some_;
};

/// A record lies in the file, so that it touches no more chunks than it has bytes there; a filtered
/// one lies in a single chunk.
Status check_touching(DatasetState& state, const Grid& grid, const Record& record) {
  if (record.encoding == Encoding::kFiltered) return check_filtered(record, grid.chunk);
  constexpr std::uint64_t kFew = 1u << 20;
  if (record.stored_bytes <= kFew) return {};
  BENTO_ASSIGN(const std::uint64_t room, state.file->container().room());
  if (record.stored_bytes <= room) return {};
  return fail(Code::kCorrupt,
              fmt::format("a record of {} bytes in files of {}", record.stored_bytes, room));
}

/// Cost is in proportion to the records and to the chunks found. What is found is what all have
/// written, also of a collective write that others are late for, as natively.
Result<ChunkList> allocated_chunks(DatasetState& state, const Grid& grid) {
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

std::size_t chunk_bytes(const Grid& grid, const DatasetState& state) {
  return grid.chunk.bytes(state.element_bytes);
}

Result<Dims> chunk_at(const Grid& grid, const hsize_t* offset) {
  Dims at(grid.counts.rank());
  for (unsigned d = 0; d < at.rank(); ++d) {
    if (offset[d] >= grid.extent[d] || offset[d] % grid.chunk[d] != 0)
      return fail(Code::kInvalidArgument,
                  fmt::format("offset {} in dimension {} is no chunk's corner", offset[d], d));
    at[d] = offset[d] / grid.chunk[d];
  }
  return at;
}

/// One chunk's elements in the file type; what lies outside the extent is fill.
Result<std::vector<std::byte>> assemble(Object* object, DatasetState& state, const Grid& grid,
                                        const Dims& at) {
  const Box whole = grid.whole_chunk(at);
  const Box inside = intersect(whole, Box::whole(grid.extent));
  std::vector<std::byte> chunk(chunk_bytes(grid, state));
  BENTO_ASSIGN(const auto* const fill, state.fill_value(object));
  fill_box(whole, whole, chunk.data(), *fill);
  std::vector<std::byte> part(inside.elements() * state.element_bytes);
  BENTO_TRY(read_of_one_step(state.file->container(),
                             [&] { return read_box(object, state, inside, part.data()); }));
  copy_box(inside, inside, part.data(), whole, chunk.data(), state.element_bytes);
  return chunk;
}

/// The record whose stored bytes are those of a chunk: it covers the chunk alone, inside the
/// extent.
Result<std::optional<Record>> record_of_chunk(DatasetState& state, const Grid& grid,
                                              const Dims& at) {
  const Box whole = grid.whole_chunk(at);
  if (!contains(Box::whole(grid.extent), whole)) return std::optional<Record>();
  BENTO_ASSIGN(const RecordLookup lookup, find_of_one_step(state, whole));
  if (lookup.pieces.size() != 1 || !(lookup.pieces[0].part == whole))
    return std::optional<Record>();
  Record record = lookup.records[lookup.pieces[0].record];
  if (record.encoding != Encoding::kFiltered || !(record.box == whole))
    return std::optional<Record>();
  return std::optional<Record>(std::move(record));
}

/// A chunk as HDF5 would store it: the record's own bytes if one covers the chunk, otherwise
/// assembled and filtered anew.
Result<std::vector<std::byte>> stored_chunk(Object* object, DatasetState& state, const Grid& grid,
                                            const Dims& at, std::uint32_t& mask) {
  BENTO_ASSIGN(FilterScratch* const filters, state.filters(object));
  mask = 0;
  if (filters == nullptr) return assemble(object, state, grid, at);
  BENTO_ASSIGN(const auto record, record_of_chunk(state, grid, at));
  if (record) {
    mask = record->filter_mask;
    Container& container = state.file->container();
    return read_of_one_step(container, [&] { return container.read_stored(*record); });
  }
  BENTO_ASSIGN(auto chunk, assemble(object, state, grid, at));
  if (filters->spares_partial_chunks() && !contains(Box::whole(grid.extent), grid.whole_chunk(at)))
    return chunk;
  std::vector<std::byte> stored;
  BENTO_TRY(filters->filter(grid.chunk, chunk, stored, mask));
  return stored;
}

/// H5Dwrite_chunk: the caller's bytes and mask are kept as they are. Of a chunk that reaches beyond
/// the extent only the elements inside count, so it is decoded and written like any others.
Status write_chunk(Object* object, DatasetState& state, const ChunkWrite20& args) {
  BENTO_ASSIGN(const Grid grid, grid_of(object, state));
  BENTO_ASSIGN(const Dims at, chunk_at(grid, args.offset));
  BENTO_ASSIGN(FilterScratch* const filters, state.filters(object));
  const std::span<const std::byte> given(static_cast<const std::byte*>(args.buf), args.size);
  const Box whole = grid.whole_chunk(at);
  const Box inside = intersect(whole, Box::whole(grid.extent));
  if (filters != nullptr && inside == whole &&
      given.size() <= state.file->container().largest_record())
    return state.file->container().write_filtered(state.number, whole, args.filters, given,
                                                  ValueRange::everything(), state.all_members());

  std::vector<std::byte> chunk(chunk_bytes(grid, state));
  const bool unfiltered =
      filters == nullptr || (filters->spares_partial_chunks() && !(inside == whole));
  if (unfiltered && given.size() != chunk.size())
    return fail(Code::kInvalidArgument,
                fmt::format("{} bytes for a chunk of {}", given.size(), chunk.size()));
  if (unfiltered)
    std::copy(given.begin(), given.end(), chunk.begin());
  else
    BENTO_TRY(filters->unfilter(grid.chunk, given, args.filters, chunk.data()));
  std::vector<std::byte> part(inside.elements() * state.element_bytes);
  copy_box(inside, whole, chunk.data(), inside, part.data(), state.element_bytes);
  return write_box(object, state, inside, part.data(), state.all_members());
}

Status read_chunk(Object* object, DatasetState& state, void* native) {
  BENTO_ASSIGN(const Grid grid, grid_of(object, state));
  BENTO_ASSIGN(const Dims at, chunk_at(grid, chunk_read_of(native).offset));
  BENTO_ASSIGN(const auto chunks, allocated_chunks(state, grid));
  if (!chunks.contains(grid.index(at)))
    return fail(Code::kNotFound, "chunk address is not defined: nothing was written to it");
  std::uint32_t mask = 0;
  BENTO_ASSIGN(const auto stored, stored_chunk(object, state, grid, at, mask));
  answer_chunk_read(native, stored, mask);
  return {};
}

struct ChunkInfo {
  std::array<hsize_t, kMaxRank> offset{};
  unsigned mask = 0;
  haddr_t address = HADDR_UNDEF;  // several records may make one chunk, so it has no address
  hsize_t bytes = 0;
};

Result<ChunkInfo> chunk_info(Object* object, DatasetState& state, const Grid& grid,
                             std::uint64_t index) {
  ChunkInfo info;
  const Dims at = grid.coordinates(index);
  for (unsigned d = 0; d < at.rank(); ++d) info.offset[d] = at[d] * grid.chunk[d];
  info.bytes = chunk_bytes(grid, state);
  // As natively, what is said of elements of variable length does not count their values.
  if (state.variable || H5Pget_nfilters(grid.dcpl.get()) <= 0) return info;
  BENTO_ASSIGN(const auto record, record_of_chunk(state, grid, at));
  if (record) {
    info.bytes = record->stored_bytes;
    info.mask = record->filter_mask;
  } else {
    BENTO_ASSIGN(const auto stored, stored_chunk(object, state, grid, at, info.mask));
    info.bytes = stored.size();
  }
  return info;
}

Status chunk_info_by_coord(Object* object, DatasetState& state,
                           H5VL_native_dataset_get_chunk_info_by_coord_t& args) {
  BENTO_ASSIGN(const Grid grid, grid_of(object, state));
  if (args.addr != nullptr) *args.addr = HADDR_UNDEF;
  if (args.size != nullptr) *args.size = 0;
  if (args.filter_mask != nullptr) *args.filter_mask = 0;
  const auto at = chunk_at(grid, args.offset);
  if (!at) return {};
  BENTO_ASSIGN(const auto chunks, allocated_chunks(state, grid));
  if (!chunks.contains(grid.index(*at))) return {};
  BENTO_ASSIGN(const ChunkInfo info, chunk_info(object, state, grid, grid.index(*at)));
  if (args.size != nullptr) *args.size = info.bytes;
  if (args.filter_mask != nullptr) *args.filter_mask = info.mask;
  return {};
}

Status chunk_info_by_index(Object* object, DatasetState& state,
                           H5VL_native_dataset_get_chunk_info_by_idx_t& args) {
  BENTO_ASSIGN(const Grid grid, grid_of(object, state));
  BENTO_ASSIGN(const auto chunks, allocated_chunks(state, grid));
  if (args.chk_index >= chunks.size())
    return fail(Code::kInvalidArgument,
                fmt::format("chunk index {} of {}", args.chk_index, chunks.size()));
  BENTO_ASSIGN(const ChunkInfo info, chunk_info(object, state, grid, chunks[args.chk_index]));
  if (args.offset != nullptr) std::copy_n(info.offset.begin(), grid.counts.rank(), args.offset);
  if (args.filter_mask != nullptr) *args.filter_mask = info.mask;
  if (args.addr != nullptr) *args.addr = info.address;
  if (args.size != nullptr) *args.size = info.bytes;
  return {};
}

Status iterate_chunks(Object* object, DatasetState& state, H5D_chunk_iter_op_t op, void* data) {
  BENTO_ASSIGN(const Grid grid, grid_of(object, state));
  BENTO_ASSIGN(const auto chunks, allocated_chunks(state, grid));
  for (std::uint64_t i = 0; i < chunks.size(); ++i) {
    BENTO_ASSIGN(const ChunkInfo info, chunk_info(object, state, grid, chunks[i]));
    const int answer = op(info.offset.data(), info.mask, info.address, info.bytes, data);
    if (answer < 0) return fail(Code::kInternal, "the chunk callback failed");
    if (answer > 0) return {};
  }
  return {};
}

}  // namespace

Result<Allocation> allocation_of(Object* object, DatasetState& state) {
  Allocation result;
  BENTO_ASSIGN(const PlistHandle dcpl, native_dcpl(object));
  BENTO_ASSIGN(const Dims extent, state.extent(object));
  const H5D_layout_t layout = H5Pget_layout(dcpl.get());
  if (layout == H5D_CHUNKED) {
    BENTO_ASSIGN(const Grid grid, grid_of(object, state));
    BENTO_ASSIGN(const auto chunks, allocated_chunks(state, grid));
    if (H5Pget_nfilters(dcpl.get()) > 0 && !state.variable) {
      for (std::uint64_t i = 0; i < chunks.size(); ++i) {
        BENTO_ASSIGN(const ChunkInfo info, chunk_info(object, state, grid, chunks[i]));
        result.bytes += info.bytes;
      }
    } else {
      result.bytes = chunks.size() * chunk_bytes(grid, state);
    }
    if (chunks.size() == grid.total)
      result.status = H5D_SPACE_STATUS_ALLOCATED;
    else if (chunks.size() != 0)
      result.status = H5D_SPACE_STATUS_PART_ALLOCATED;
    return result;
  }
  const std::uint64_t bytes = extent.bytes(state.element_bytes);
  if (bytes == 0 && layout != H5D_COMPACT) return result;
  BENTO_ASSIGN(const RecordLookup lookup, find_of_one_step(state, Box::whole(extent)));
  if (layout == H5D_COMPACT || allocated_here(state, dcpl.get()) || !lookup.pieces.empty())
    result = {H5D_SPACE_STATUS_ALLOCATED, bytes};
  return result;
}

Result<bool> diverted_optional(Object* object, DatasetState& state, H5VL_optional_args_t* args,
                               hid_t dxpl) {
  (void)dxpl;
  auto* const native = static_cast<H5VL_native_dataset_optional_args_t*>(args->args);
  if (state.variable && (args->op_type == H5VL_NATIVE_DATASET_CHUNK_READ ||
                         args->op_type == H5VL_NATIVE_DATASET_CHUNK_WRITE))
    return fail(Code::kUnsupported,
                "chunks of variable-length elements are no bytes of a container: use H5Dread and "
                "H5Dwrite");
  switch (args->op_type) {
    case H5VL_NATIVE_DATASET_GET_VLEN_BUF_SIZE: {
      if (!state.variable) return false;
      const auto& asked = native->get_vlen_buf_size;
      BENTO_ASSIGN(*asked.size,
                   variable_buffer_bytes(object, state, asked.type_id, asked.space_id));
      return true;
    }
    case H5VL_NATIVE_DATASET_GET_OFFSET: {
      BENTO_ASSIGN(const auto offset, dataset_offset(object, state));
      if (offset) *native->get_offset.offset = *offset;
      return offset.has_value();
    }
    case H5VL_NATIVE_DATASET_GET_NUM_CHUNKS: {
      BENTO_ASSIGN(const Grid grid, grid_of(object, state));
      BENTO_ASSIGN(const auto chunks, allocated_chunks(state, grid));
      *native->get_num_chunks.nchunks = chunks.size();
      return true;
    }
    case H5VL_NATIVE_DATASET_GET_CHUNK_STORAGE_SIZE: {
      BENTO_ASSIGN(const Grid grid, grid_of(object, state));
      BENTO_ASSIGN(const Dims at, chunk_at(grid, native->get_chunk_storage_size.offset));
      BENTO_ASSIGN(const auto chunks, allocated_chunks(state, grid));
      *native->get_chunk_storage_size.size = 0;
      if (chunks.contains(grid.index(at))) {
        BENTO_ASSIGN(const ChunkInfo info, chunk_info(object, state, grid, grid.index(at)));
        *native->get_chunk_storage_size.size = info.bytes;
      }
      return true;
    }
    case H5VL_NATIVE_DATASET_GET_CHUNK_INFO_BY_IDX:
      BENTO_TRY(chunk_info_by_index(object, state, native->get_chunk_info_by_idx));
      return true;
    case H5VL_NATIVE_DATASET_GET_CHUNK_INFO_BY_COORD:
      BENTO_TRY(chunk_info_by_coord(object, state, native->get_chunk_info_by_coord));
      return true;
    case H5VL_NATIVE_DATASET_CHUNK_READ:
      BENTO_TRY(read_chunk(object, state, args->args));
      return true;
    case H5VL_NATIVE_DATASET_CHUNK_WRITE:
      BENTO_TRY(write_chunk(object, state, chunk_write_of(args->args)));
      return true;
    case H5VL_NATIVE_DATASET_CHUNK_ITER:
      BENTO_TRY(iterate_chunks(object, state, native->chunk_iter.op, native->chunk_iter.op_data));
      return true;
    default:
      return false;
  }
}

}  // namespace bento::vol
