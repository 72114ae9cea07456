// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/data/plain_selection.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "hdf5/data/selection.hpp"

namespace bento::vol {

namespace {

Status select_whole(hid_t space) {
  BENTO_ASSIGN(const Dims extent, extent_of(space));
  if (extent.rank() == 0) return {};
  std::array<hsize_t, kMaxRank> start{};
  std::array<hsize_t, kMaxRank> count{};
  bool empty = false;
  for (unsigned d = 0; d < extent.rank(); ++d) {
    count[d] = extent[d];
    empty = empty || extent[d] == 0;
  }
  const herr_t done = empty ? H5Sselect_none(space)
                            : H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr,
                                                  count.data(), nullptr);
  if (done < 0) return fail(Code::kInternal, "a whole extent cannot be selected");
  return {};
}

/// The library has no question for the offset; but the bounds include it.
Status take_out_offset(hid_t space) {
  BENTO_ASSIGN(const Dims extent, extent_of(space));
  BENTO_ASSIGN(const Box with, bounds_of(space, extent));
  const std::array<hssize_t, kMaxRank> zeros{};
  std::array<hsize_t, kMaxRank> first{};
  std::array<hsize_t, kMaxRank> last{};
  if (H5Soffset_simple(space, zeros.data()) < 0 ||
      H5Sget_select_bounds(space, first.data(), last.data()) < 0)
    return fail(Code::kInternal, "the offset of a selection cannot be taken out");
  std::array<hssize_t, kMaxRank> back{};
  bool moved = false;
  for (unsigned d = 0; d < extent.rank(); ++d) {
    back[d] = static_cast<hssize_t>(first[d]) - static_cast<hssize_t>(with.start[d]);
    moved = moved || back[d] != 0;
  }
  if (moved && H5Sselect_adjust(space, back.data()) < 0)
    return fail(Code::kInternal, "a selection cannot be moved");
  return {};
}

}  // namespace

Result<SpaceHandle> plain_selection(hid_t space) {
  SpaceHandle plain(H5Scopy(space));
  if (!plain.valid()) return fail(Code::kInvalidArgument, "no dataspace");
  switch (H5Sget_select_type(plain.get())) {
    case H5S_SEL_ALL:
      BENTO_TRY(select_whole(plain.get()));
      break;
    case H5S_SEL_HYPERSLABS:
    case H5S_SEL_POINTS:
      if (H5Sget_select_npoints(plain.get()) > 0) BENTO_TRY(take_out_offset(plain.get()));
      break;
    default:
      break;
  }
  return plain;
}

Result<bool> is_irregular(hid_t space) {
  if (H5Sget_select_type(space) != H5S_SEL_HYPERSLABS) return false;
  const htri_t regular = H5Sis_regular_hyperslab(space);
  if (regular < 0) return fail(Code::kInternal, "a hyperslab is unreadable");
  return regular == 0 && H5Sget_simple_extent_ndims(space) > 1;
}

Result<std::vector<PointRound>> rounds_of_points(hid_t space) {
  const int rank = H5Sget_simple_extent_ndims(space);
  const hssize_t count = H5Sget_select_elem_npoints(space);
  if (rank <= 0 || count < 0) return fail(Code::kInternal, "a selection of points is unreadable");
  const auto width = static_cast<std::size_t>(rank);
  const auto points = static_cast<std::size_t>(count);
  std::vector<hsize_t> at(points * width);
  if (points > 0 && H5Sget_select_elem_pointlist(space, 0, points, at.data()) < 0)
    return fail(Code::kInternal, "a selection of points is unreadable");
  const auto before = [&](std::uint64_t a, std::uint64_t b) {
    return std::lexicographical_compare(&at[a * width], &at[a * width] + width, &at[b * width],
                                        &at[b * width] + width);
  };
  std::vector<std::uint64_t> sorted(points);
  std::iota(sorted.begin(), sorted.end(), std::uint64_t{0});
  std::stable_sort(sorted.begin(), sorted.end(), before);
  std::vector<PointRound> rounds;
  std::size_t times = 0;  // this point was selected before
  for (std::size_t i = 0; i < points; ++i) {
    times = i > 0 && !before(sorted[i - 1], sorted[i]) ? times + 1 : 0;
    if (times == rounds.size()) rounds.emplace_back();
    rounds[times].order.push_back(sorted[i]);
  }
  SpaceHandle whole(H5Scopy(space));
  BENTO_TRY(select_whole(whole.get()));
  std::vector<hsize_t> chosen;
  for (PointRound& round : rounds) {
    chosen.clear();
    for (const std::uint64_t point : round.order)
      chosen.insert(chosen.end(), &at[point * width], &at[point * width] + width);
    const SpaceHandle list(H5Scopy(space));
    // What points and a whole extent have in common the library gives as hyperslabs.
    if (H5Sselect_elements(list.get(), H5S_SELECT_SET, round.order.size(), chosen.data()) >= 0)
      round.points =
          SpaceHandle(H5Sselect_project_intersection(whole.get(), whole.get(), list.get()));
    if (!round.points.valid() ||
        H5Sget_select_npoints(round.points.get()) != static_cast<hssize_t>(round.order.size()))
      return fail(Code::kInternal, "points cannot be selected as hyperslabs");
  }
  return rounds;
}

Status subtract_selection(hid_t space, hid_t gone) {
  if (H5Sget_select_npoints(gone) == 0 || H5Sget_select_npoints(space) == 0) return {};
  const herr_t done = H5Sget_select_type(gone) == H5S_SEL_ALL
                          ? H5Sselect_none(space)
                          : H5Smodify_select(space, H5S_SELECT_NOTB, gone);
  if (done < 0) return fail(Code::kInternal, "a selection cannot be subtracted from another");
  return {};
}

}  // namespace bento::vol
