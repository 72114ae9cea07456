// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/data/unlimited_selection.hpp"

#include <algorithm>

namespace bento::vol {

std::optional<UnlimitedSelection> UnlimitedSelection::of(hid_t space) {
  if (H5Sget_select_type(space) != H5S_SEL_HYPERSLABS || H5Sis_regular_hyperslab(space) <= 0)
    return std::nullopt;
  UnlimitedSelection found;
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank <= 0 || H5Sget_regular_hyperslab(space, found.start_.data(), found.stride_.data(),
                                            found.count_.data(), found.block_.data()) < 0)
    return std::nullopt;
  found.rank_ = static_cast<unsigned>(rank);
  for (unsigned d = 0; d < found.rank_; ++d) {
    if (found.count_[d] != H5S_UNLIMITED && found.block_[d] != H5S_UNLIMITED) continue;
    found.dimension_ = d;
    return found;
  }
  return std::nullopt;
}

bool UnlimitedSelection::is_one_run() const {
  return block_[dimension_] == H5S_UNLIMITED || block_[dimension_] == stride_[dimension_];
}

std::uint64_t UnlimitedSelection::slices_in(std::uint64_t extent) const {
  const std::uint64_t start = start_[dimension_];
  if (extent <= start) return 0;
  if (is_one_run()) return extent - start;
  const std::uint64_t stride = stride_[dimension_];
  const std::uint64_t block = block_[dimension_];
  return (extent - start) / stride * block + std::min((extent - start) % stride, block);
}

std::uint64_t UnlimitedSelection::extent_of(std::uint64_t slices, bool with_gap) const {
  const std::uint64_t start = start_[dimension_];
  if (slices == 0) return with_gap ? start : 0;
  if (is_one_run()) return start + slices;
  const std::uint64_t stride = stride_[dimension_];
  const std::uint64_t block = block_[dimension_];
  const std::uint64_t whole = slices / block;
  const std::uint64_t rest = slices % block;
  if (rest > 0) return start + whole * stride + rest;
  return with_gap ? start + whole * stride : start + (whole - 1) * stride + block;
}

std::uint64_t UnlimitedSelection::block_begin(std::uint64_t number) const {
  return start_[dimension_] + number * stride_[dimension_];
}

std::uint64_t UnlimitedSelection::block_end(std::uint64_t number) const {
  return block_begin(number) + block_[dimension_];
}

std::uint64_t UnlimitedSelection::first_block_behind(std::uint64_t coordinate) const {
  if (coordinate < block_end(0)) return 0;
  return (coordinate - block_end(0)) / stride_[dimension_] + 1;
}

Result<SpaceHandle> UnlimitedSelection::space_for(std::uint64_t end, const Dims& extent) const {
  std::array<hsize_t, kMaxRank> dims{};
  for (unsigned d = 0; d < rank_; ++d) {
    const std::uint64_t needed =
        d == dimension_ ? end : start_[d] + (count_[d] - 1) * stride_[d] + block_[d];
    dims[d] = std::max(extent[d], needed);
  }
  SpaceHandle space(H5Screate_simple(static_cast<int>(rank_), dims.data(), nullptr));
  if (!space.valid() || H5Sselect_none(space.get()) < 0)
    return fail(Code::kInternal, "no dataspace for a part of an unlimited selection");
  return space;
}

Status UnlimitedSelection::add(hid_t space, H5S_seloper_t how, std::uint64_t start,
                               std::uint64_t count, std::uint64_t block) const {
  auto starts = start_;
  auto counts = count_;
  auto blocks = block_;
  auto strides = stride_;
  starts[dimension_] = start;
  counts[dimension_] = count;
  blocks[dimension_] = block;
  if (count == 1) strides[dimension_] = block;
  if (H5Sselect_hyperslab(space, how, starts.data(), strides.data(), counts.data(), blocks.data()) <
      0)
    return fail(Code::kInternal, "a part of an unlimited selection cannot be selected");
  return {};
}

Result<SpaceHandle> UnlimitedSelection::first_slices(std::uint64_t slices,
                                                     const Dims& extent) const {
  BENTO_ASSIGN(SpaceHandle space, space_for(extent_of(slices, false), extent));
  if (slices == 0) return space;
  const std::uint64_t start = start_[dimension_];
  if (is_one_run()) {
    BENTO_TRY(add(space.get(), H5S_SELECT_SET, start, 1, slices));
    return space;
  }
  const std::uint64_t block = block_[dimension_];
  const std::uint64_t whole = slices / block;
  const std::uint64_t rest = slices % block;
  if (whole > 0) BENTO_TRY(add(space.get(), H5S_SELECT_SET, start, whole, block));
  if (rest > 0)
    BENTO_TRY(add(space.get(), whole > 0 ? H5S_SELECT_OR : H5S_SELECT_SET,
                  start + whole * stride_[dimension_], 1, rest));
  return space;
}

Result<SpaceHandle> UnlimitedSelection::block(std::uint64_t number, const Dims& extent) const {
  BENTO_ASSIGN(SpaceHandle space, space_for(block_end(number), extent));
  BENTO_TRY(add(space.get(), H5S_SELECT_SET, block_begin(number), 1, block_[dimension_]));
  return space;
}

}  // namespace bento::vol
