// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/data/stored_selection.hpp"

#include <array>
#include <cstdint>
#include <span>

#include <fmt/format.h>

#include "core/bytes/byte_writer.hpp"
#include "hdf5/base/quiet_errors.hpp"

namespace bento::vol {

namespace {

enum class Form : std::uint8_t { kNone = 0, kAll = 1, kPoints = 2, kRegular = 3, kBlocks = 4 };

using Coordinates = std::array<hsize_t, H5S_MAX_RANK>;

Error unreadable() {
  return {Code::kInternal, "a selection is unreadable", 0};
}

Error contradictory() {
  return {Code::kCorrupt, "a reference to a region has a selection that cannot be", 0};
}

void begin(Form form, std::vector<std::byte>& out) {
  out.push_back(static_cast<std::byte>(form));
}

void put_all(const std::vector<hsize_t>& values, std::vector<std::byte>& out) {
  for (const hsize_t value : values) put_varint(out, value);
}

Status put_points(hid_t space, std::size_t rank, std::vector<std::byte>& out) {
  const hssize_t count = H5Sget_select_elem_npoints(space);
  if (count < 0) return fail(unreadable());
  std::vector<hsize_t> points(static_cast<std::size_t>(count) * rank);
  if (H5Sget_select_elem_pointlist(space, 0, static_cast<hsize_t>(count), points.data()) < 0)
    return fail(unreadable());
  begin(Form::kPoints, out);
  put_varint(out, static_cast<std::uint64_t>(count));
  put_all(points, out);
  return {};
}

Status put_regular(hid_t space, std::size_t rank, std::vector<std::byte>& out) {
  Coordinates start{};
  Coordinates stride{};
  Coordinates count{};
  Coordinates block{};
  if (H5Sget_regular_hyperslab(space, start.data(), stride.data(), count.data(), block.data()) < 0)
    return fail(unreadable());
  begin(Form::kRegular, out);
  for (std::size_t d = 0; d < rank; ++d) {
    // Blocks without anything between them are one, as in a file of HDF5.
    if (stride[d] == block[d] && count[d] != H5S_UNLIMITED && block[d] != H5S_UNLIMITED) {
      block[d] *= count[d];
      count[d] = 1;
    }
    if (count[d] == 1) stride[d] = 1;
    put_all({start[d], stride[d], count[d], block[d]}, out);
  }
  return {};
}

Status put_blocks(hid_t space, std::size_t rank, std::vector<std::byte>& out) {
  const hssize_t count = H5Sget_select_hyper_nblocks(space);
  if (count < 0) return fail(unreadable());
  std::vector<hsize_t> corners(static_cast<std::size_t>(count) * 2 * rank);
  if (H5Sget_select_hyper_blocklist(space, 0, static_cast<hsize_t>(count), corners.data()) < 0)
    return fail(unreadable());
  begin(Form::kBlocks, out);
  put_varint(out, static_cast<std::uint64_t>(count));
  put_all(corners, out);
  return {};
}

Status take_all(ByteReader& in, std::span<hsize_t> values) {
  for (hsize_t& value : values) {
    BENTO_ASSIGN(value, in.varint());
  }
  return {};
}

/// `of_one`: numbers of a point or block.
Result<std::vector<hsize_t>> take_list(ByteReader& in, std::size_t of_one, std::size_t& count) {
  BENTO_ASSIGN(const std::uint64_t wanted, in.varint());
  BENTO_TRY(in.fits(wanted, of_one));
  count = static_cast<std::size_t>(wanted);
  std::vector<hsize_t> values(count * of_one);
  BENTO_TRY(take_all(in, values));
  return values;
}

Status select_points(ByteReader& in, hid_t space, std::size_t rank) {
  std::size_t count = 0;
  BENTO_ASSIGN(const auto points, take_list(in, rank, count));
  if (count == 0 || H5Sselect_elements(space, H5S_SELECT_SET, count, points.data()) < 0)
    return fail(contradictory());
  return {};
}

Status select_regular(ByteReader& in, hid_t space, std::size_t rank) {
  Coordinates start{};
  Coordinates stride{};
  Coordinates count{};
  Coordinates block{};
  for (std::size_t d = 0; d < rank; ++d) {
    std::array<hsize_t, 4> values{};
    BENTO_TRY(take_all(in, values));
    start[d] = values[0];
    stride[d] = values[1];
    count[d] = values[2];
    block[d] = values[3];
  }
  if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), stride.data(), count.data(),
                          block.data()) < 0)
    return fail(contradictory());
  return {};
}

Status select_blocks(ByteReader& in, hid_t space, std::size_t rank) {
  std::size_t count = 0;
  BENTO_ASSIGN(const auto corners, take_list(in, 2 * rank, count));
  if (H5Sselect_none(space) < 0) return fail(contradictory());
  for (std::size_t i = 0; i < count; ++i) {
    const hsize_t* const first = &corners[i * 2 * rank];
    const hsize_t* const last = first + rank;
    Coordinates ones{};
    Coordinates block{};
    for (std::size_t d = 0; d < rank; ++d) {
      if (last[d] < first[d]) return fail(contradictory());
      ones[d] = 1;
      block[d] = last[d] - first[d] + 1;
    }
    if (H5Sselect_hyperslab(space, H5S_SELECT_OR, first, nullptr, ones.data(), block.data()) < 0)
      return fail(contradictory());
  }
  return {};
}

Status select(ByteReader& in, Form form, hid_t space, std::size_t rank) {
  switch (form) {
    case Form::kNone:
      return H5Sselect_none(space) < 0 ? Status(fail(contradictory())) : Status{};
    case Form::kAll:
      return H5Sselect_all(space) < 0 ? Status(fail(contradictory())) : Status{};
    case Form::kPoints:
    case Form::kRegular:
    case Form::kBlocks:
      break;
  }
  if (rank == 0) return fail(contradictory());
  if (form == Form::kPoints) return select_points(in, space, rank);
  if (form == Form::kRegular) return select_regular(in, space, rank);
  return select_blocks(in, space, rank);
}

}  // namespace

Status put_selection(hid_t space, std::vector<std::byte>& out) {
  const int dims =
      H5Sget_simple_extent_type(space) == H5S_NULL ? 0 : H5Sget_simple_extent_ndims(space);
  if (dims < 0) return fail(unreadable());
  const auto rank = static_cast<std::size_t>(dims);
  put_varint(out, rank);
  switch (H5Sget_select_type(space)) {
    case H5S_SEL_NONE:
      begin(Form::kNone, out);
      return {};
    case H5S_SEL_ALL:
      begin(Form::kAll, out);
      return {};
    case H5S_SEL_POINTS:
      return put_points(space, rank, out);
    case H5S_SEL_HYPERSLABS:
      return H5Sis_regular_hyperslab(space) > 0 ? put_regular(space, rank, out)
                                                : put_blocks(space, rank, out);
    default:
      return fail(unreadable());
  }
}

Result<SpaceHandle> take_selection(ByteReader& in) {
  BENTO_ASSIGN(const std::uint64_t rank, in.varint());
  BENTO_ASSIGN(const std::uint8_t form, in.u8());
  if (rank > H5S_MAX_RANK || form > static_cast<std::uint8_t>(Form::kBlocks))
    return fail(contradictory());
  const Coordinates none{};
  SpaceHandle space(rank == 0 ? H5Screate(H5S_SCALAR)
                              : H5Screate_simple(static_cast<int>(rank), none.data(), nullptr));
  if (!space.valid()) return fail(Code::kInternal, "no space for a selection");
  const QuietErrors quiet;
  BENTO_TRY(select(in, static_cast<Form>(form), space.get(), static_cast<std::size_t>(rank)));
  return space;
}

}  // namespace bento::vol
