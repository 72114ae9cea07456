// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/filter_scratch.hpp"

#include <array>

#include "core/geometry/box.hpp"
#include "vol/h5/handle.hpp"
#include "vol/object.hpp"

namespace bento::vol {

namespace {

/// A dataset of exactly one chunk in a memory-only file of the native connector.
struct Scratch {
  FileHandle file;
  DatasetHandle dataset;
  std::array<hsize_t, kMaxRank> origin{};
};

Result<Scratch> make_scratch(hid_t dcpl, hid_t type) {
  Scratch scratch;
  std::array<hsize_t, kMaxRank> dims{};
  const int rank = H5Pget_chunk(dcpl, kMaxRank, dims.data());
  if (rank <= 0) return fail(Code::kInvalidArgument, "the dataset is not chunked");
  const PlistHandle access(H5Pcreate(H5P_FILE_ACCESS));
  constexpr std::size_t kIncrement = 1u << 16;
  if (H5Pset_vol(access.get(), native_connector(), nullptr) < 0 ||
      H5Pset_fapl_core(access.get(), kIncrement, false) < 0)
    return fail(Code::kInternal, "no memory file for filters");
  scratch.file =
      FileHandle(H5Fcreate("h5bento-filter-scratch", H5F_ACC_TRUNC, H5P_DEFAULT, access.get()));
  const SpaceHandle space(H5Screate_simple(rank, dims.data(), nullptr));
  const PlistHandle list(H5Pcopy(dcpl));
  H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_INCR);
  scratch.dataset = DatasetHandle(
      H5Dcreate2(scratch.file.get(), "d", type, space.get(), H5P_DEFAULT, list.get(), H5P_DEFAULT));
  if (!scratch.dataset.valid())
    return fail(Code::kInvalidArgument,
                "the dataset's filters cannot be set up here: is a filter plugin missing?");
  return scratch;
}

}  // namespace

Result<std::vector<std::byte>> filter_chunk(hid_t dcpl, hid_t type,
                                            std::span<const std::byte> chunk, std::uint32_t& mask) {
  BENTO_ASSIGN(const Scratch scratch, make_scratch(dcpl, type));
  const hid_t dataset = scratch.dataset.get();
  hsize_t bytes = 0;
  if (H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, chunk.data()) < 0 ||
      H5Dflush(dataset) < 0 ||
      H5Dget_chunk_storage_size(dataset, scratch.origin.data(), &bytes) < 0)
    return fail(Code::kInvalidArgument, "a filter of the dataset failed");
  std::vector<std::byte> stored(static_cast<std::size_t>(bytes));
  if (H5Dread_chunk(dataset, H5P_DEFAULT, scratch.origin.data(), &mask, stored.data()) < 0)
    return fail(Code::kInternal, "filtered bytes unreadable");
  return stored;
}

Result<std::vector<std::byte>> unfilter_chunk(hid_t dcpl, hid_t type,
                                              std::span<const std::byte> stored, std::uint32_t mask,
                                              std::size_t chunk_bytes) {
  BENTO_ASSIGN(const Scratch scratch, make_scratch(dcpl, type));
  std::vector<std::byte> chunk(chunk_bytes);
  if (H5Dwrite_chunk(scratch.dataset.get(), H5P_DEFAULT, mask, scratch.origin.data(), stored.size(),
                     stored.data()) < 0 ||
      H5Dread(scratch.dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, chunk.data()) < 0)
    return fail(Code::kInvalidArgument, "the stored bytes do not pass the dataset's filters");
  return chunk;
}

}  // namespace bento::vol
