// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/table_columns.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "core/base/checked.hpp"
#include "vol/file/creation_facts.hpp"
#include "vol/file/native_dataset.hpp"

namespace bento::vol {

namespace {

/// Of less, all of a column's pieces are in the processor's cache.
constexpr std::uint64_t kLeastTableBytes = 1u << 20;
/// A row of a chunk that takes more than a line of the processor's cache is worth a read.
constexpr std::uint64_t kMostRowBytes = 64;
constexpr std::uint64_t kLeastChunkRows = 16;
/// With fewer chunks beside each other, a record of all columns is read about as fast.
constexpr std::uint64_t kLeastChunksBeside = 8;
/// Each record costs the native view a chunk or a mapping, and a read a search.
constexpr std::uint64_t kLeastRecordBytes = 64u << 10;
constexpr std::uint64_t kMostBeside = 64;
/// Memory that the columns are gathered in: so many bytes, or this part of the table.
constexpr std::uint64_t kGatheredBytes = 16u << 20;
constexpr std::uint64_t kMostBelow = 16;
/// What is gathered at a time stays in the cache until all columns have taken theirs.
constexpr std::uint64_t kBandBytes = 128u << 10;

std::uint64_t cut_into(std::uint64_t all, std::uint64_t part) {
  return all / part + (all % part != 0 ? 1 : 0);
}

/// The next bytes, all of them; in `room` unless the source has them in one piece.
Result<std::span<const std::byte>> take_all(ByteSource& source, std::uint64_t bytes,
                                            std::vector<std::byte>& room) {
  BENTO_ASSIGN(auto taken, source.take(bytes));
  if (taken.size() == bytes) return taken;
  room.assign(taken.begin(), taken.end());
  while (room.size() < bytes) {
    BENTO_ASSIGN(taken, source.take(bytes - room.size()));
    room.insert(room.end(), taken.begin(), taken.end());
  }
  return std::span<const std::byte>(room);
}

}  // namespace

std::optional<TableCut> cut_of_table(const Dims& extent, const Dims& chunk,
                                     std::uint64_t element_bytes) {
  if (extent.rank() != 2 || chunk.rank() != 2 || chunk[1] == 0 || element_bytes == 0) return {};
  if (chunk[1] > kMostRowBytes / element_bytes || chunk[0] < kLeastChunkRows) return {};
  if (extent[1] / chunk[1] < kLeastChunksBeside) return {};
  const std::uint64_t bytes = extent.bytes(element_bytes);
  if (bytes < kLeastTableBytes) return {};
  const std::uint64_t below = std::min(cut_into(bytes, kGatheredBytes), kMostBelow);
  TableCut cut;
  // All of one size, but for less than `below` rows at the end: then they are the chunks of the
  // native view (core/container/piece_grid.hpp).
  cut.rows = extent[0] / below;
  if (cut.rows == 0) return {};
  // Whole chunks, so that who reads one finds it in one record.
  const std::uint64_t least = std::max(cut_into(extent[1], kMostBeside),
                                       cut_into(kLeastRecordBytes, cut.rows * element_bytes));
  cut.columns = round_up(least, chunk[1]);
  for (std::uint64_t more = cut.columns; more < 2 * cut.columns; more += chunk[1])
    if (extent[1] % more == 0) {
      cut.columns = more;
      break;
    }
  if (extent[1] / cut.columns < 2) return {};
  return cut;
}

Result<std::optional<TableCut>> cut_of_write(Object* object, DatasetState& state, const Box& box) {
  std::optional<TableCut> cut;
  if (box.rank() != 2 || box.count.bytes(state.element_bytes) < kLeastTableBytes) return cut;
  BENTO_ASSIGN(const Dims extent, state.extent(object));
  if (!(box == Box::whole(extent))) return cut;
  BENTO_ASSIGN(const PlistHandle dcpl, native_dcpl(object));
  const CreationFacts facts = facts_of_list(dcpl.get());
  if (facts.layout != H5D_CHUNKED || facts.filters != 0) return cut;
  cut = cut_of_table(extent, facts.chunk, state.element_bytes);
  return cut;
}

Status write_table(DatasetState& state, const Box& box, const TableCut& cut, ByteSource& data,
                   const WrittenMembers* written) {
  const std::uint64_t row_bytes = box.count[1] * state.element_bytes;
  const std::uint64_t band_rows = std::max<std::uint64_t>(1, kBandBytes / row_bytes);
  const auto room = std::make_unique_for_overwrite<std::byte[]>(
      static_cast<std::size_t>(std::min(cut.rows, box.count[0]) * row_bytes));
  std::vector<std::byte> gathered;
  for (std::uint64_t top = 0; top < box.count[0]; top += cut.rows) {
    const std::uint64_t rows = std::min(cut.rows, box.count[0] - top);
    // Of a record, and of a part of it; both lie in `room` behind the columns to the left.
    const auto columns_at = [&](std::uint64_t left, std::uint64_t row, std::uint64_t count) {
      return Box{Dims{box.start[0] + row, box.start[1] + left},
                 Dims{count, std::min(cut.columns, box.count[1] - left)}};
    };
    for (std::uint64_t row = top; row < top + rows; row += band_rows) {
      const std::uint64_t count = std::min(band_rows, top + rows - row);
      BENTO_ASSIGN(const auto band, take_all(data, count * row_bytes, gathered));
      const Box band_box{Dims{box.start[0] + row, box.start[1]}, Dims{count, box.count[1]}};
      for (std::uint64_t left = 0; left < box.count[1]; left += cut.columns)
        copy_box(columns_at(left, row, count), band_box, band.data(), columns_at(left, top, rows),
                 room.get() + left * rows * state.element_bytes, state.element_bytes);
    }
    for (std::uint64_t left = 0; left < box.count[1]; left += cut.columns) {
      const Box record = columns_at(left, top, rows);
      const std::span bytes(room.get() + left * rows * state.element_bytes,
                            static_cast<std::size_t>(record.count.bytes(state.element_bytes)));
      BENTO_TRY(state.file->container().write(state.number, record, state.element_bytes, bytes,
                                              state.range_of(bytes), written));
    }
  }
  return {};
}

}  // namespace bento::vol
