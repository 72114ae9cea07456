// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/view/adopted_storage.hpp"

#include <utility>

#include <fmt/format.h>

#include "hdf5/base/error_bridge.hpp"
#include "hdf5/view/freed_space.hpp"

namespace bento::vol {

namespace {

std::vector<hsize_t> dims_of(const Dims& dims) {
  return {dims.view().begin(), dims.view().end()};
}

}  // namespace

Result<PlistHandle> contiguous_list(hid_t dcpl) {
  PlistHandle list(H5Pcopy(dcpl));
  // The bytes are there: the library must not begin by filling them.
  if (H5Premove_filter(list.get(), H5Z_FILTER_ALL) < 0 ||
      H5Pset_layout(list.get(), H5D_CONTIGUOUS) < 0 ||
      H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_EARLY) < 0 ||
      H5Pset_fill_time(list.get(), H5D_FILL_TIME_NEVER) < 0)
    return fail(Code::kInternal, "the creation list of a contiguous dataset is refused");
  return list;
}

Result<DatasetHandle> adopt_contiguous(hid_t file, ViewFile& view, std::uint64_t address,
                                       std::uint64_t bytes, hid_t type, hid_t space, hid_t list) {
  BENTO_TRY(take_freed_space(file, view));
  view.adopt_next(address, bytes);
  DatasetHandle dataset(H5Dcreate_anon(file, type, space, list, H5P_DEFAULT));
  const bool taken = view.adopted();
  if (dataset.valid() && taken) return dataset;
  BENTO_TRY(view.failure());
  return fail(Code::kInternal, fmt::format("{} bytes at {} cannot be made a dataset ({})", bytes,
                                           address, innermost_error()));
}

Result<DatasetHandle> create_chunked(hid_t file, const Dims& chunk, hid_t type, hid_t space,
                                     hid_t dcpl, bool filtered) {
  const PlistHandle list(H5Pcopy(dcpl));
  const auto dims = dims_of(chunk);
  // Nothing is allocated, and so nothing filled, before a chunk gets its place. Where there is no
  // chunk the library gives the fill value, unless it is never to fill.
  if ((!filtered && H5Premove_filter(list.get(), H5Z_FILTER_ALL) < 0) ||
      H5Pset_chunk(list.get(), static_cast<int>(dims.size()), dims.data()) < 0 ||
      H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_INCR) < 0 ||
      H5Pset_fill_time(list.get(), H5D_FILL_TIME_IFSET) < 0)
    return fail(Code::kInternal, "the creation list of a chunked dataset is refused");
  DatasetHandle dataset(H5Dcreate_anon(file, type, space, list.get(), H5P_DEFAULT));
  if (!dataset.valid())
    return fail(Code::kInternal, "a chunked dataset is refused: " + innermost_error());
  return dataset;
}

Result<ChunkAdopter> ChunkAdopter::of(hid_t file, ViewFile& view, hid_t dataset) {
  BENTO_TRY(take_freed_space(file, view));
  return ChunkAdopter(view, dataset);
}

Status ChunkAdopter::add(const ViewChunk& chunk) {
  const auto bytes = static_cast<std::size_t>(chunk.bytes);
  // What is written is dropped: only the place and the size of the stored bytes count.
  if (nothing_ == nullptr || nothing_->size() < bytes)
    nothing_ = std::make_unique<UnreadMemory>(bytes);
  if (nothing_->data() == nullptr)
    return fail(Code::kNoSpace, fmt::format("no address space for a chunk of {} bytes", bytes));
  const std::vector<hsize_t> start = dims_of(chunk.start);
  view_->adopt_next(chunk.address, chunk.bytes);
  if (H5Dwrite_chunk(dataset_, H5P_DEFAULT, chunk.filter_mask, start.data(), bytes,
                     nothing_->data()) >= 0 &&
      view_->adopted())
    return {};
  BENTO_TRY(view_->failure());
  return fail(Code::kInternal, fmt::format("{} bytes at {} cannot be made a chunk ({})", bytes,
                                           chunk.address, innermost_error()));
}

Status adopt_chunks(hid_t file, ViewFile& view, hid_t dataset,
                    const std::vector<ViewChunk>& chunks) {
  BENTO_ASSIGN(ChunkAdopter adopter, ChunkAdopter::of(file, view, dataset));
  for (const ViewChunk& chunk : chunks) BENTO_TRY(adopter.add(chunk));
  return {};
}

Result<PlistHandle> list_of_source(Encoding encoding, hid_t dcpl) {
  if (encoding != Encoding::kFiltered) return contiguous_list(dcpl);
  PlistHandle list(H5Pcopy(dcpl));
  if (!list.valid()) return fail(Code::kInternal, "a creation list cannot be copied");
  return list;
}

Result<DatasetHandle> adopt_source(hid_t file, ViewFile& view, const ViewSource& source, hid_t type,
                                   hid_t space, hid_t list) {
  if (source.encoding != Encoding::kFiltered)
    return adopt_contiguous(file, view, source.address, source.bytes, type, space, list);
  BENTO_ASSIGN(DatasetHandle made, create_chunked(file, source.shape, type, space, list, true));
  BENTO_TRY(adopt_chunks(
      file, view, made.get(),
      {{Dims(source.shape.rank()), source.address, source.bytes, source.filter_mask}}));
  return made;
}

}  // namespace bento::vol
