// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/joined/stream_datasets.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "core/geometry/box.hpp"
#include "hdf5/base/counted_values.hpp"
#include "hdf5/base/create_unnamed.hpp"
#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/library_text.hpp"
#include "hdf5/base/types.hpp"
#include "hdf5/data/selection.hpp"
#include "hdf5/data/spaces.hpp"
#include "hdf5/view/adopted_storage.hpp"

namespace bento::vol {

namespace {

/// Only what a copy needs of a creation list: fill value, order of attributes.
PlistHandle plain_list(hid_t list, hid_t type) {
  PlistHandle plain(H5Pcreate(H5P_DATASET_CREATE));
  unsigned order = 0;
  if (H5Pget_attr_creation_order(list, &order) >= 0) H5Pset_attr_creation_order(plain.get(), order);
  H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
  std::vector<std::byte> value(H5Tget_size(type));
  if (!has_variable_length(type) && H5Pfill_value_defined(list, &defined) >= 0 &&
      defined == H5D_FILL_VALUE_USER_DEFINED && H5Pget_fill_value(list, type, value.data()) >= 0)
    H5Pset_fill_value(plain.get(), type, value.data());
  return plain;
}

/// What the values of variable length take in memory; 0 if they cannot be read. HDF5's own
/// question, H5Dvlen_get_buf_size(), does not survive a scalar dataspace, nor one of 32 dimensions.
hsize_t bytes_behind(hid_t from, hid_t type, hid_t space) {
  constexpr std::uint64_t kElements = 4096;
  hsize_t bytes = 0;
  const PlistHandle list(H5Pcreate(H5P_DATASET_XFER));
  const SpaceHandle part(H5Scopy(space));
  const auto extent = extent_of(space);
  if (!extent || !part.valid() || !count_values(list.get(), bytes)) return 0;
  const Status read = for_each_part(Box::whole(*extent), kElements, [&](const Box& box) -> Status {
    const hsize_t count = box.elements();
    const SpaceHandle row(H5Screate_simple(1, &count, nullptr));
    std::vector<std::byte> elements(static_cast<std::size_t>(count) * H5Tget_size(type));
    if (box.rank() > 0) BENTO_TRY(select_box(part.get(), box));
    if (H5Dread(from, type, row.get(), part.get(), list.get(), elements.data()) < 0)
      return fail(Code::kCorrupt, "unreadable");
    H5Treclaim(type, row.get(), list.get(), elements.data());
    return {};
  });
  return read ? bytes : 0;
}

std::uint64_t all_bytes(hid_t from, hid_t type, hid_t space) {
  const hssize_t count = H5Sget_simple_extent_npoints(space);
  const std::size_t size = H5Tget_size(type);
  if (count < 0 || size == 0) return ~std::uint64_t{0};
  std::uint64_t bytes =
      Dims{static_cast<std::uint64_t>(count)}.bytes(static_cast<std::uint64_t>(size));
  if (!has_variable_length(type)) return bytes;
  return std::max(bytes, bytes + bytes_behind(from, type, space));
}

}  // namespace

MadeDataset StreamDatasets::left_out(const std::string& path, const std::string& why) {
  MadeDataset made;
  made.why_not = fmt::format("{}; 'h5bento export --format per-rank' has it", why);
  notes_.push_back(
      fmt::format("'{}' of '{}' is not in the native view: {}", path, slot_.name, why));
  return made;
}

bool StreamDatasets::in_one_piece(std::uint64_t address, std::uint64_t bytes) const {
  return address <= slot_.length() && bytes <= slot_.length() - address &&
         place_.run_at(address, bytes).bytes == bytes;
}

Result<MadeDataset> StreamDatasets::make(hid_t from, hid_t type, const std::string& path) {
  const SpaceHandle space(H5Dget_space(from));
  const PlistHandle list(H5Dget_create_plist(from));
  if (!space.valid() || !list.valid()) return left_out(path, "it is unreadable");
  const Subject subject{from, type, space.get(), list.get(), path};
  if (has_variable_length(type)) return make_copy(subject, "variable-length", list.get());
  if (has_reference(type)) return make_copy(subject, "of references", list.get());
  switch (H5Pget_layout(list.get())) {
    case H5D_COMPACT:
      return make_copy(subject, "compact", list.get());
    case H5D_CHUNKED:
      return make_chunked(subject);
    case H5D_CONTIGUOUS:
      if (H5Pget_external_count(list.get()) <= 0) return make_contiguous(subject);
      break;
    case H5D_VIRTUAL:
      break;
    default:
      return left_out(path, "its layout is unknown");
  }
  if (const std::string missing = missing_source(list.get()); !missing.empty())
    return left_out(path, fmt::format("its data lie in '{}', which is not here", missing));
  const PlistHandle plain = plain_list(list.get(), type);
  return make_copy(subject, "external or virtual", plain.get());
}

// Where a file is not there, the library reads fill values and says nothing.
std::string StreamDatasets::missing_source(hid_t list) const {
  std::error_code ignored;
  const int external = H5Pget_external_count(list);
  for (int i = 0; i < external; ++i) {
    std::array<char, 4096> name{};
    off_t offset = 0;
    hsize_t bytes = 0;
    if (H5Pget_external(list, static_cast<unsigned>(i), name.size() - 1, name.data(), &offset,
                        &bytes) < 0)
      return "?";
    if (!std::filesystem::exists(name.data(), ignored)) return name.data();
  }
  std::size_t sources = 0;
  if (H5Pget_layout(list) != H5D_VIRTUAL || H5Pget_virtual_count(list, &sources) < 0) return {};
  const std::filesystem::path folder = std::filesystem::path(set_.path_of(slot_)).parent_path();
  for (std::size_t i = 0; i < sources; ++i) {
    const auto given = library_text([&](char* room, std::size_t bytes) {
      return H5Pget_virtual_filename(list, i, room, bytes);
    });
    const std::string name = given && !given->empty() ? *given : "?";
    if (name != "." && set_.find((folder / name).string()) == nullptr && set_.find(name) == nullptr)
      return name;
  }
  return {};
}

Result<MadeDataset> StreamDatasets::make_copy(const Subject& subject, const char* what,
                                              hid_t list) {
  const std::uint64_t bytes = all_bytes(subject.from, subject.type, subject.space);
  if (bytes > budget_)
    return left_out(
        subject.path,
        fmt::format("{} ({} bytes), and a copy is beyond what view_copy= allows", what, bytes));
  MadeDataset made;
  made.dataset = create_unnamed(to_, subject.type, subject.space, list);
  // As chunked, where the extent may grow and the list says nothing of chunks.
  if (!made.dataset.valid() && H5Sis_simple(subject.space) > 0) {
    const SpaceHandle fixed(H5Scopy(subject.space));
    std::array<hsize_t, H5S_MAX_RANK> dims{};
    const int rank = H5Sget_simple_extent_dims(subject.space, dims.data(), nullptr);
    if (rank > 0 && H5Sset_extent_simple(fixed.get(), rank, dims.data(), nullptr) >= 0)
      made.dataset =
          DatasetHandle(H5Dcreate_anon(to_, subject.type, fixed.get(), list, H5P_DEFAULT));
  }
  if (!made.dataset.valid())
    return left_out(subject.path, fmt::format("a copy is refused: {}", innermost_error()));
  budget_ -= bytes;
  made.data_needed = true;
  return made;
}

Result<MadeDataset> StreamDatasets::make_contiguous(const Subject& subject) {
  const haddr_t address = H5Dget_offset(subject.from);
  const hsize_t bytes = H5Dget_storage_size(subject.from);
  MadeDataset made;
  if (address == HADDR_UNDEF || bytes == 0) {
    made.dataset =
        DatasetHandle(H5Dcreate_anon(to_, subject.type, subject.space, subject.list, H5P_DEFAULT));
    if (!made.dataset.valid())
      return left_out(subject.path, fmt::format("it is refused: {}", innermost_error()));
    return made;
  }
  if (!in_one_piece(address, bytes)) {
    if (address > slot_.length() || bytes > slot_.length() - address)
      return left_out(subject.path, "its data lie behind the end of its file");
    return make_copy(subject, "it crosses the end of a chunk of the container", subject.list);
  }
  BENTO_ASSIGN(const PlistHandle list, contiguous_list(subject.list));
  BENTO_ASSIGN(made.dataset, adopt_contiguous(to_, view_, place_.run_at(address, bytes).address,
                                              bytes, subject.type, subject.space, list.get()));
  return made;
}

// --- chunked: chunk by chunk, as they are stored
// ------------------------------------------------------------------

Result<MadeDataset> StreamDatasets::make_chunked(const Subject& subject) {
  auto listed = stored_chunks(subject.from);
  if (!listed) return left_out(subject.path, listed.error().text);
  const auto chunks = std::make_shared<std::vector<StoredChunk>>(std::move(*listed));
  std::erase_if(*chunks, [](const StoredChunk& chunk) { return chunk.bytes == 0; });
  std::uint64_t to_copy = 0;
  for (const auto& chunk : *chunks) {
    if (chunk.address > slot_.length() || chunk.bytes > slot_.length() - chunk.address)
      return left_out(subject.path, "a chunk of it lies behind the end of its file");
    if (!in_one_piece(chunk.address, chunk.bytes)) to_copy += chunk.bytes;
  }
  if (to_copy > budget_)
    return left_out(subject.path,
                    fmt::format("{} bytes of its chunks cross the end of a chunk of the container, "
                                "and a copy is beyond what view_copy= allows",
                                to_copy));
  const PlistHandle list(H5Pcopy(subject.list));
  if (H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_INCR) < 0)
    return fail(Code::kInternal, "native view: a creation list is refused");
  MadeDataset made;
  made.dataset = create_unnamed(to_, subject.type, subject.space, list.get());
  if (!made.dataset.valid())
    return left_out(subject.path, fmt::format("it is refused: {}", innermost_error()));
  budget_ -= to_copy;
  made.fill = [this, chunks](hid_t dataset) { return adopt_chunks(dataset, *chunks); };
  return made;
}

Status StreamDatasets::adopt_chunks(hid_t dataset, const std::vector<StoredChunk>& chunks) {
  BENTO_ASSIGN(ChunkAdopter adopter, ChunkAdopter::of(to_, view_, dataset));
  for (const auto& chunk : chunks) {
    if (!in_one_piece(chunk.address, chunk.bytes)) {
      BENTO_TRY(copy_chunk(dataset, chunk));
      continue;
    }
    BENTO_TRY(adopter.add({Dims(std::span<const std::uint64_t>(chunk.offset)),
                           place_.run_at(chunk.address, chunk.bytes).address, chunk.bytes,
                           chunk.filter_mask}));
  }
  return {};
}

Status StreamDatasets::copy_chunk(hid_t dataset, const StoredChunk& chunk) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(chunk.bytes));
  BENTO_TRY(place_.read(slot_.length(), chunk.address, bytes));
  if (H5Dwrite_chunk(dataset, H5P_DEFAULT, chunk.filter_mask, chunk.offset.data(), bytes.size(),
                     bytes.data()) < 0)
    return copy_failure(slot_.name, "a chunk cannot be copied");
  return {};
}

}  // namespace bento::vol
