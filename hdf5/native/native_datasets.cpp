// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/native/native_datasets.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/container/pieces.hpp"
#include "hdf5/base/create_unnamed.hpp"
#include "hdf5/data/stored_chunks.hpp"

namespace bento::vol {

namespace {

// Each one costs about a hundred bytes of memory; HDF5 itself is slow long before.
constexpr std::size_t kMostChunks = std::size_t{16} << 20;
constexpr std::uint64_t kMostVariableBytes = std::uint64_t{1} << 30;

/// The chunks of a dataset that hold something: number in the grid -> filter mask of the record
/// that is the chunk as it would be stored, or kInParts.
using Chunks = std::map<std::uint64_t, std::uint64_t>;
constexpr std::uint64_t kInParts = ~std::uint64_t{0};

/// How many chunks along each dimension.
Dims grid_of(const Dims& extent, const Dims& chunk) {
  Dims grid = extent;
  for (unsigned d = 0; d < grid.rank(); ++d)
    grid[d] = extent[d] / chunk[d] + (extent[d] % chunk[d] != 0 ? 1 : 0);
  return grid;
}

Box chunk_box(std::uint64_t number, const Dims& extent, const Dims& chunk) {
  const Dims grid = grid_of(extent, chunk);
  Box box{grid, chunk};
  for (unsigned d = grid.rank(); d-- > 0;) {
    box.start[d] = number % grid[d] * chunk[d];
    number /= grid[d];
  }
  return box;
}

Status add_chunks_of(const Box& part, std::uint64_t value, const Dims& grid, const Dims& chunk,
                     Chunks& out) {
  Box touched = part;
  for (unsigned d = 0; d < part.rank(); ++d) {
    touched.start[d] = part.start[d] / chunk[d];
    touched.count[d] = (part.start[d] + part.count[d] - 1) / chunk[d] - touched.start[d] + 1;
  }
  const std::uint64_t count = touched.elements();
  if (count > kMostChunks || out.size() > kMostChunks - count)
    return fail(Code::kUnsupported,
                fmt::format("it has more than {} chunks: they are too small", kMostChunks));
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t rest = i;
    std::uint64_t number = 0;
    std::uint64_t stride = 1;
    for (unsigned d = part.rank(); d-- > 0;) {
      number += (touched.start[d] + rest % touched.count[d]) * stride;
      rest /= touched.count[d];
      stride *= grid[d];
    }
    out[number] = value;
  }
  return {};
}

Result<Chunks> chunks_of(const DivertedDataset& dataset, const RecordLookup& seen,
                         const Dims& chunk) {
  const Dims grid = grid_of(dataset.extent, chunk);
  if (!grid.checked_product())
    return fail(Code::kUnsupported, "it has more chunks than 64 bits can count");
  Chunks chunks;
  for (const Piece& piece : seen.pieces) {
    if (piece.part.empty()) continue;
    const Record& record = seen.records[piece.record];
    bool is_chunk = record.encoding == Encoding::kFiltered && dataset.filters != nullptr &&
                    record.box.count == chunk && piece.part == record.box;
    for (unsigned d = 0; is_chunk && d < chunk.rank(); ++d)
      is_chunk = record.box.start[d] % chunk[d] == 0;
    BENTO_TRY(
        add_chunks_of(piece.part, is_chunk ? record.filter_mask : kInParts, grid, chunk, chunks));
  }
  return chunks;
}

}  // namespace

Box LaidOutDataset::box_of(const DataExtent& extent) const {
  return chunked() ? chunk_box(extent.chunk, about->extent, chunk) : Box::whole(about->extent);
}

Result<MadeDataset> NativeDatasets::make(hid_t from, const H5O_token_t& token, hid_t type,
                                         const std::string& path) {
  const DatasetDeclaration* const declared = diverted_.find(token);
  if (declared == nullptr) return make_undiverted(from, file_, type, times_);
  BENTO_ASSIGN(const Given given, describe_diverted(from, declared->number, type, path, declared));
  if (times_ == ObjectTimes::kNone) H5Pset_obj_track_times(given->dcpl.get(), false);
  const H5D_layout_t layout = H5Pget_layout(given->dcpl.get());
  BENTO_ASSIGN(const RecordLookup seen, records_.find(given->number, Box::whole(given->extent)));
  const bool written =
      std::ranges::any_of(seen.pieces, [](const Piece& piece) { return !piece.part.empty(); });
  MadeDataset made;
  if (given->variable) return make_variable(given, seen);
  if (!written) {
    made.dataset = create_unnamed(file_, type, given->space.get(), given->dcpl.get());
  } else if (layout == H5D_COMPACT) {
    return make_compact(given);
  } else if (layout == H5D_CHUNKED) {
    return make_chunked(given, seen);
  } else {
    BENTO_ASSIGN(made.dataset, make_contiguous(given, seen));
  }
  if (!made.dataset.valid()) return fail(Code::kInternal, "the dataset is refused");
  return made;
}

// The library puts their values among its metadata, which is in memory while the file is made.
Result<MadeDataset> NativeDatasets::make_variable(const Given& given, const RecordLookup& seen) {
  const std::uint64_t bytes = stored_bytes(seen);
  if (bytes > kMostVariableBytes - std::min(variable_bytes_, kMostVariableBytes))
    return fail(Code::kUnsupported,
                fmt::format("'{}': the variable-length elements have more than {} bytes, which are "
                            "too many to be held in memory: use h5repack",
                            given->path, kMostVariableBytes));
  variable_bytes_ += bytes;
  return make_variable_copy(records_, given, file_);
}

Result<DatasetHandle> NativeDatasets::make_contiguous(const Given& given,
                                                      const RecordLookup& seen) {
  const std::uint64_t bytes = given->extent.bytes(given->element_bytes);
  BENTO_ASSIGN(const std::uint64_t address, place_.allocate_data(bytes));
  BENTO_ASSIGN(const PlistHandle list, contiguous_list(given->dcpl.get()));
  BENTO_ASSIGN(DatasetHandle dataset,
               adopt_contiguous(file_, view_, address, bytes, given->type.get(), given->space.get(),
                                list.get()));
  extents_.push_back({address, bytes, 0, static_cast<std::uint32_t>(datasets_.size()),
                      DataExtent::Content::kElements});
  datasets_.push_back({given, {}});
  note_use(datasets_.back(), seen, extents_.size() - 1);
  return dataset;
}

// Its data lies in the object's header, so the library writes it. At most 64 KiB.
Result<MadeDataset> NativeDatasets::make_compact(const Given& given) {
  MadeDataset made;
  made.dataset = DatasetHandle(
      H5Dcreate_anon(file_, given->type.get(), given->space.get(), given->dcpl.get(), H5P_DEFAULT));
  made.fill = [this, given](hid_t dataset) -> Status {
    std::vector<std::byte> elements(
        static_cast<std::size_t>(given->extent.bytes(given->element_bytes)));
    BENTO_TRY(
        read_elements(records_, *given, Box::whole(given->extent), elements.data(), decoded_));
    if (H5Dwrite(dataset, given->type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, elements.data()) < 0)
      return copy_failure(given->path, "its data cannot be written");
    return {};
  };
  if (!made.dataset.valid()) return fail(Code::kInternal, "the dataset is refused");
  return made;
}

// The chunks come when the dataset is linked: so many make the library forget that the header of an
// anonymous one has no link yet, and at its close it deletes the dataset (docs/hdf5-traps.md).
Result<MadeDataset> NativeDatasets::make_chunked(const Given& given, const RecordLookup& seen) {
  const PlistHandle list(H5Pcopy(given->dcpl.get()));
  if (H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_INCR) < 0)
    return fail(Code::kInternal, "the creation list is refused");
  MadeDataset made;
  made.dataset = create_unnamed(file_, given->type.get(), given->space.get(), list.get());
  if (!made.dataset.valid()) return fail(Code::kInternal, "the dataset is refused");
  made.fill = [this, given, seen](hid_t dataset) { return add_chunks(dataset, given, seen); };
  return made;
}

Status NativeDatasets::add_chunks(hid_t dataset, const Given& given, const RecordLookup& seen) {
  BENTO_ASSIGN(const Dims chunk, chunk_shape(given->dcpl.get(), given->extent.rank()));
  BENTO_ASSIGN(const Chunks chunks, chunks_of(*given, seen, chunk));
  std::map<std::uint64_t, std::uint64_t> stored_bytes;
  for (const Piece& piece : seen.pieces) {
    const Record& record = seen.records[piece.record];
    if (record.encoding != Encoding::kFiltered || !(record.box.count == chunk)) continue;
    std::uint64_t number = 0;
    const Dims grid = grid_of(given->extent, chunk);
    for (unsigned d = 0; d < chunk.rank(); ++d)
      number = number * grid[d] + piece.part.start[d] / chunk[d];
    stored_bytes[number] = record.stored_bytes;
  }
  BENTO_ASSIGN(ChunkAdopter adopter, ChunkAdopter::of(file_, view_, dataset));
  DataExtent extent;
  const std::size_t first_extent = extents_.size();
  extent.dataset = static_cast<std::uint32_t>(datasets_.size());
  datasets_.push_back({given, chunk});
  for (const auto& [number, mask] : chunks) {
    extent.chunk = number;
    if (mask == kInParts) {
      extent.content = DataExtent::Content::kElements;
      extent.bytes = chunk.bytes(given->element_bytes);
    } else {
      extent.content = DataExtent::Content::kStored;
      extent.bytes = stored_bytes[number];
    }
    BENTO_TRY(add_chunk(adopter, extent, static_cast<std::uint32_t>(mask)));
  }
  note_use(datasets_[extent.dataset], seen, first_extent);
  return {};
}

Status NativeDatasets::add_chunk(ChunkAdopter& adopter, DataExtent extent, std::uint32_t mask) {
  const LaidOutDataset& laid_out = datasets_[extent.dataset];
  const DivertedDataset& about = *laid_out.about;
  const Box box = laid_out.box_of(extent);
  std::vector<std::byte> filtered;
  if (extent.content == DataExtent::Content::kElements) {
    mask = 0;
    if (about.filters != nullptr && out_ != nullptr) {
      BENTO_TRY(filter_chunk(extent, mask, filtered));
    } else if (about.filters != nullptr) {
      const int filters = H5Pget_nfilters(about.dcpl.get());
      mask = static_cast<std::uint32_t>((std::uint64_t{1} << filters) - 1);
    }
  }
  BENTO_ASSIGN(extent.address, place_.allocate_data(extent.bytes));
  if (auto added = adopter.add({box.start, extent.address, extent.bytes, mask}); !added)
    return fail(std::move(added).error().with_context(fmt::format("'{}'", about.path)));
  if (!filtered.empty()) BENTO_TRY(place_.file().write_at(extent.address, filtered));
  if (extent.content == DataExtent::Content::kWritten) BENTO_TRY(note_chunk(extent, mask));
  extents_.push_back(extent);
  return {};
}

// One that the journal names is there already.
Status NativeDatasets::filter_chunk(DataExtent& extent, std::uint32_t& mask,
                                    std::vector<std::byte>& filtered) {
  const LaidOutDataset& laid_out = datasets_[extent.dataset];
  const DivertedDataset& about = *laid_out.about;
  extent.content = DataExtent::Content::kWritten;
  if (out_->journal != nullptr && chunks_known_ < out_->journal->chunks().size()) {
    const JournalledChunk& known = out_->journal->chunks()[chunks_known_];
    if (known.dataset != about.number || known.chunk != extent.chunk) return contradiction();
    mask = known.filter_mask;
    extent.bytes = known.bytes;
    return {};
  }
  const Box box = laid_out.box_of(extent);
  std::vector<std::byte> elements(static_cast<std::size_t>(extent.bytes));
  BENTO_TRY(read_elements(records_, about, box, elements.data(), decoded_));
  BENTO_TRY(about.filters->filter(box.count, elements, filtered, mask));
  extent.bytes = filtered.size();
  return {};
}

Status NativeDatasets::note_chunk(const DataExtent& extent, std::uint32_t mask) {
  AssemblyJournal* const journal = out_->journal;
  if (journal == nullptr) return {};
  const JournalledChunk chunk{datasets_[extent.dataset].about->number, mask, extent.chunk,
                              extent.address, extent.bytes};
  if (chunks_known_ == journal->chunks().size()) {
    journal->add_chunk(chunk);
    return {};
  }
  return journal->chunks()[chunks_known_++] == chunk ? Status{} : contradiction();
}

Status NativeDatasets::contradiction() {
  out_->contradicted = true;
  return fail(Code::kInternal, "what was written before lies otherwise");
}

void NativeDatasets::note_use(const LaidOutDataset& dataset, const RecordLookup& seen,
                              std::size_t first_extent) {
  if (out_ == nullptr || out_->use == nullptr) return;
  const auto extents = std::span(extents_).subspan(first_extent);
  const Dims grid = dataset.chunked() ? grid_of(dataset.about->extent, dataset.chunk) : Dims{};
  for (const Piece& piece : seen.pieces) {
    if (piece.part.empty()) continue;
    Box last = piece.part;
    for (unsigned d = 0; d < last.rank(); ++d) {
      last.start[d] += last.count[d] - 1;
      last.count[d] = 1;
    }
    std::uint64_t until = 0;
    if (dataset.chunked()) {
      std::uint64_t number = 0;
      for (unsigned d = 0; d < grid.rank(); ++d)
        number = number * grid[d] + last.start[d] / dataset.chunk[d];
      const auto found = std::ranges::lower_bound(extents, number, {}, &DataExtent::chunk);
      const DataExtent& extent = found == extents.end() ? extents.back() : *found;
      if (extent.content == DataExtent::Content::kWritten) continue;  // all that it lies in are
      until = extent.address + extent.bytes;
    } else {
      const std::uint64_t before = row_major_offset(Box::whole(dataset.about->extent), last);
      until = extents.front().address + (before + 1) * dataset.about->element_bytes;
    }
    out_->use->used_below(seen.records[piece.record], until);
  }
}

}  // namespace bento::vol
