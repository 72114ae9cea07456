// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/dataset_chunks.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include <H5VLnative.h>
#include <fmt/format.h>

#include "hdf5/base/chunk_arguments.hpp"
#include "hdf5/data/filtered_record.hpp"
#include "vol/data/allocated_chunks.hpp"
#include "vol/data/box_data.hpp"
#include "vol/data/dataset_offset.hpp"
#include "vol/data/variable_transfer.hpp"
#include "vol/file/native_dataset.hpp"

namespace bento::vol {

namespace {

std::size_t chunk_bytes(const ChunkGrid& grid, const DatasetState& state) {
  return grid.chunk.bytes(state.element_bytes);
}

Result<Dims> chunk_at(const ChunkGrid& grid, const hsize_t* offset) {
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
Result<std::vector<std::byte>> assemble(Object* object, DatasetState& state, const ChunkGrid& grid,
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
Result<std::optional<Record>> record_of_chunk(DatasetState& state, const ChunkGrid& grid,
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
Result<std::vector<std::byte>> stored_chunk(Object* object, DatasetState& state,
                                            const ChunkGrid& grid, const Dims& at,
                                            std::uint32_t& mask) {
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
  BENTO_ASSIGN(const ChunkGrid grid, grid_of(object, state));
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
  BENTO_ASSIGN(const ChunkGrid grid, grid_of(object, state));
  BENTO_ASSIGN(const Dims at, chunk_at(grid, chunk_read_of(native).offset));
  BENTO_ASSIGN(const bool there, is_allocated(state, grid, at));
  if (!there)
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

Result<ChunkInfo> chunk_info(Object* object, DatasetState& state, const ChunkGrid& grid,
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
  BENTO_ASSIGN(const ChunkGrid grid, grid_of(object, state));
  if (args.addr != nullptr) *args.addr = HADDR_UNDEF;
  if (args.size != nullptr) *args.size = 0;
  if (args.filter_mask != nullptr) *args.filter_mask = 0;
  const auto at = chunk_at(grid, args.offset);
  if (!at) return {};
  BENTO_ASSIGN(const bool there, is_allocated(state, grid, *at));
  if (!there) return {};
  BENTO_ASSIGN(const ChunkInfo info, chunk_info(object, state, grid, grid.index(*at)));
  if (args.size != nullptr) *args.size = info.bytes;
  if (args.filter_mask != nullptr) *args.filter_mask = info.mask;
  return {};
}

Status chunk_info_by_index(Object* object, DatasetState& state,
                           H5VL_native_dataset_get_chunk_info_by_idx_t& args) {
  BENTO_ASSIGN(const ChunkGrid grid, grid_of(object, state));
  BENTO_ASSIGN(const auto chunks, allocated_chunks(state, grid));
  if (args.chk_index >= chunks->size())
    return fail(Code::kInvalidArgument,
                fmt::format("chunk index {} of {}", args.chk_index, chunks->size()));
  BENTO_ASSIGN(const ChunkInfo info, chunk_info(object, state, grid, (*chunks)[args.chk_index]));
  if (args.offset != nullptr) std::copy_n(info.offset.begin(), grid.counts.rank(), args.offset);
  if (args.filter_mask != nullptr) *args.filter_mask = info.mask;
  if (args.addr != nullptr) *args.addr = info.address;
  if (args.size != nullptr) *args.size = info.bytes;
  return {};
}

Status iterate_chunks(Object* object, DatasetState& state, H5D_chunk_iter_op_t op, void* data) {
  BENTO_ASSIGN(const ChunkGrid grid, grid_of(object, state));
  BENTO_ASSIGN(const auto chunks, allocated_chunks(state, grid));
  for (std::uint64_t i = 0; i < chunks->size(); ++i) {
    BENTO_ASSIGN(const ChunkInfo info, chunk_info(object, state, grid, (*chunks)[i]));
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
    BENTO_ASSIGN(const ChunkGrid grid, grid_of(object, state));
    BENTO_ASSIGN(const auto chunks, allocated_chunks(state, grid));
    if (H5Pget_nfilters(dcpl.get()) > 0 && !state.variable) {
      for (std::uint64_t i = 0; i < chunks->size(); ++i) {
        BENTO_ASSIGN(const ChunkInfo info, chunk_info(object, state, grid, (*chunks)[i]));
        result.bytes += info.bytes;
      }
    } else {
      result.bytes = chunks->size() * chunk_bytes(grid, state);
    }
    // A dataset without elements has all its chunks, which are none: natively that is none.
    if (chunks->size() != 0)
      result.status = chunks->size() == grid.total ? H5D_SPACE_STATUS_ALLOCATED
                                                   : H5D_SPACE_STATUS_PART_ALLOCATED;
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
      BENTO_ASSIGN(const ChunkGrid grid, grid_of(object, state));
      BENTO_ASSIGN(const auto chunks, allocated_chunks(state, grid));
      *native->get_num_chunks.nchunks = chunks->size();
      return true;
    }
    case H5VL_NATIVE_DATASET_GET_CHUNK_STORAGE_SIZE: {
      BENTO_ASSIGN(const ChunkGrid grid, grid_of(object, state));
      BENTO_ASSIGN(const Dims at, chunk_at(grid, native->get_chunk_storage_size.offset));
      BENTO_ASSIGN(const bool there, is_allocated(state, grid, at));
      *native->get_chunk_storage_size.size = 0;
      if (there) {
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
