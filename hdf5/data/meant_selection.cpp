// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/data/meant_selection.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "hdf5/data/selection.hpp"

namespace bento::vol {

namespace {

/// Is the regular form of `space`, which has one, without strides, as nearly all are, and of the
/// right number of elements? Where the library counts wrongly there was a stride in that dimension,
/// and it stays in the form, also when the blocks have become a single one. (Only
/// H5Scombine_hyperslab() could take it away. If the wrong form has as many elements then as were
/// selected, it is not noticed.)
bool is_plainly_right(hid_t space, hssize_t selected) {
  // NOLINTBEGIN(cppcoreguidelines-pro-type-member-init): set by the call
  std::array<hsize_t, kMaxRank> start;
  std::array<hsize_t, kMaxRank> stride;
  std::array<hsize_t, kMaxRank> block;
  // NOLINTEND(cppcoreguidelines-pro-type-member-init)
  std::array<hsize_t, kMaxRank> count{};  // 0 behind the last dimension
  if (H5Sget_regular_hyperslab(space, start.data(), stride.data(), count.data(), block.data()) < 0)
    return false;
  hsize_t elements = 1;
  for (std::size_t d = 0; d < kMaxRank && count[d] != 0; ++d) {
    if (stride[d] != 1) return false;
    elements *= count[d] * block[d];
  }
  return elements == static_cast<hsize_t>(selected);
}

bool same_elements(RegularSelection a, RegularSelection b) {
  a.normalise();
  b.normalise();
  return a.start == b.start && a.stride == b.stride && a.count == b.count && a.block == b.block;
}

/// `space` less an element that is far from all of it. For this the library goes by the tree of
/// spans, if there is one. If there is none, nothing has been united, and it copies the regular
/// form. Of a selection without elements it would crash.
Result<SpaceHandle> by_spans(hid_t space) {
  std::array<hsize_t, kMaxRank> extent{};
  const int rank = H5Sget_simple_extent_dims(space, extent.data(), nullptr);
  std::array<hsize_t, kMaxRank> start{};
  std::array<hsize_t, kMaxRank> count{};
  start[0] = hsize_t{1} << 63;
  count.fill(1);
  const SpaceHandle far(H5Screate_simple(rank, extent.data(), nullptr));
  if (!far.valid() || H5Sselect_hyperslab(far.get(), H5S_SELECT_SET, start.data(), nullptr,
                                          count.data(), nullptr) < 0)
    return fail(Code::kInternal, "no element beside a selection");
  SpaceHandle rebuilt(H5Scombine_select(far.get(), H5S_SELECT_NOTA, space));
  if (!rebuilt.valid())
    return fail(Code::kInternal, "a union of hyperslabs cannot be put together again");
  return rebuilt;
}

/// The library has no question for the offset; but the bounds include it, and they begin where the
/// regular form does.
Status move_by_offset(hid_t space, const RegularSelection& regular, hid_t rebuilt) {
  std::array<hsize_t, kMaxRank> first{};
  std::array<hsize_t, kMaxRank> last{};
  if (H5Sget_select_bounds(space, first.data(), last.data()) < 0)
    return fail(Code::kInvalidArgument,
                "the selection and its offset leave the dataspace's extent");
  std::array<hssize_t, kMaxRank> offset{};
  for (unsigned d = 0; d < regular.start.rank(); ++d)
    offset[d] = static_cast<hssize_t>(first[d]) - static_cast<hssize_t>(regular.start[d]);
  if (H5Soffset_simple(rebuilt, offset.data()) < 0)
    return fail(Code::kInternal, "the offset of a selection cannot be set");
  return {};
}

}  // namespace

Result<MeantSelection> MeantSelection::of(hid_t space) {
  const bool special = space == H5S_ALL || space == H5S_BLOCK || space == H5S_PLIST;
  if (special || H5Sget_select_type(space) != H5S_SEL_HYPERSLABS) return MeantSelection(space);
  return of_hyperslabs(space, H5Sget_select_npoints(space));
}

// H5Scombine_hyperslab() may leave the first of two selections out of the tree of spans. Then the
// regular form is all that has it, if that has.
Result<MeantSelection> MeantSelection::of_hyperslabs(hid_t space, hssize_t selected) {
  MeantSelection meant(space);
  if (selected <= 0) return meant;
  const bool has_form = H5Sis_regular_hyperslab(space) > 0;
  if (has_form && is_plainly_right(space, selected)) return meant;
  BENTO_ASSIGN(const auto regular, regular_of(space));
  if (has_form && !regular) return meant;  // without an end
  BENTO_ASSIGN(SpaceHandle rebuilt, by_spans(space));
  if (H5Sget_select_npoints(rebuilt.get()) != selected) {
    if (regular && regular->packed_grid().elements() == static_cast<std::uint64_t>(selected))
      return meant;
    return fail(Code::kUnsupported,
                "HDF5 has lost a part of this union of hyperslabs (H5Scombine_hyperslab does): "
                "select its parts by H5Sselect_hyperslab");
  }
  if (!regular) return meant;
  BENTO_ASSIGN(const auto again, regular_of(rebuilt.get()));
  if (again && same_elements(*regular, *again)) return meant;
  BENTO_TRY(move_by_offset(space, *regular, rebuilt.get()));
  meant.rebuilt_ = std::move(rebuilt);
  return meant;
}

}  // namespace bento::vol
