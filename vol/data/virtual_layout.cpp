// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/virtual_layout.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "hdf5/base/library_text.hpp"
#include "hdf5/data/selection.hpp"
#include "vol/file/dataset_state.hpp"
#include "vol/file/native_dataset.hpp"

namespace bento::vol {

namespace {

using NameGetter = ssize_t (*)(hid_t, size_t, char*, size_t);

Result<SourceName> name_in(hid_t dcpl, std::size_t mapping, NameGetter get) {
  const auto name =
      library_text([&](char* room, std::size_t bytes) { return get(dcpl, mapping, room, bytes); });
  if (!name) return fail(Code::kInternal, "the name of a virtual source is unreadable");
  return SourceName::of(*name);
}

Result<Box> bounds_in(hid_t space) {
  std::array<hsize_t, kMaxRank> first{};
  std::array<hsize_t, kMaxRank> last{};
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 0) return fail(Code::kInternal, "the space of a virtual mapping is unreadable");
  Box box{Dims(static_cast<unsigned>(rank)), Dims(static_cast<unsigned>(rank))};
  if (rank == 0 || H5Sget_select_npoints(space) == 0) return box;
  if (H5Sget_select_bounds(space, first.data(), last.data()) < 0)
    return fail(Code::kInternal, "the bounds of a virtual mapping are unreadable");
  for (unsigned d = 0; d < box.rank(); ++d) {
    box.start[d] = first[d];
    box.count[d] = last[d] - first[d] + 1;
  }
  return box;
}

Result<VirtualMapping> mapping_in(hid_t dcpl, std::size_t number) {
  VirtualMapping mapping;
  BENTO_ASSIGN(mapping.file, name_in(dcpl, number, H5Pget_virtual_filename));
  BENTO_ASSIGN(mapping.dataset, name_in(dcpl, number, H5Pget_virtual_dsetname));
  mapping.elements = SpaceHandle(H5Pget_virtual_vspace(dcpl, number));
  mapping.source = SpaceHandle(H5Pget_virtual_srcspace(dcpl, number));
  if (!mapping.elements.valid() || !mapping.source.valid())
    return fail(Code::kInternal, "the space of a virtual mapping is unreadable");
  mapping.unlimited = UnlimitedSelection::of(mapping.elements.get());
  mapping.unlimited_source = UnlimitedSelection::of(mapping.source.get());
  const bool numbered = mapping.file.numbered() || mapping.dataset.numbered();
  if (numbered != mapping.is_series() || (mapping.unlimited_source && !mapping.unlimited))
    return fail(Code::kInvalidArgument,
                "a virtual mapping whose names, selection and source do not fit together");
  if (!mapping.unlimited) {
    BENTO_ASSIGN(mapping.bounds, bounds_in(mapping.elements.get()));
  }
  return mapping;
}

/// As HDF5 counts them: whole extents need nothing.
void add_to_least(const VirtualMapping& mapping, Dims& least) {
  const H5S_sel_type kind = H5Sget_select_type(mapping.elements.get());
  if (mapping.unlimited || kind == H5S_SEL_ALL || kind == H5S_SEL_NONE) return;
  for (unsigned d = 0; d < std::min(least.rank(), mapping.bounds.rank()); ++d)
    least[d] = std::max(least[d], mapping.bounds.start[d] + mapping.bounds.count[d]);
}

/// The dimension along which the boxes begin at most places: few of them overlap there.
unsigned busiest_dimension(const std::vector<Box>& boxes) {
  unsigned best = 0;
  std::size_t most = 0;
  for (unsigned d = 0; d < boxes.front().rank(); ++d) {
    std::set<std::uint64_t> starts;
    for (const Box& box : boxes) starts.insert(box.start[d]);
    if (starts.size() <= most) continue;
    most = starts.size();
    best = d;
  }
  return best;
}

/// By the boxes around them: of others it is not known.
bool known_disjoint(const VirtualLayout& layout) {
  if (layout.mappings.size() <= 1) return true;
  if (layout.unlimited) return false;
  std::vector<Box> boxes;
  for (const VirtualMapping& mapping : layout.mappings) boxes.push_back(mapping.bounds);
  if (boxes.front().rank() == 0) return false;
  const unsigned d = busiest_dimension(boxes);
  std::sort(boxes.begin(), boxes.end(),
            [d](const Box& a, const Box& b) { return a.start[d] < b.start[d]; });
  for (std::size_t i = 0; i < boxes.size(); ++i)
    for (std::size_t j = i + 1;
         j < boxes.size() && boxes[j].start[d] < boxes[i].start[d] + boxes[i].count[d]; ++j)
      if (overlaps(boxes[i], boxes[j])) return false;
  return true;
}

/// Of the dataset itself the library would open sources to tell it; its mappings have it, too.
Status read_extent(const Object* dataset, VirtualLayout& layout) {
  SpaceHandle asked;
  if (!layout.unlimited) {
    BENTO_ASSIGN(asked, native_space(dataset));
  }
  const hid_t space = asked.valid() ? asked.get() : layout.mappings.front().elements.get();
  std::array<hsize_t, kMaxRank> now{};
  std::array<hsize_t, kMaxRank> most{};
  const int rank = H5Sget_simple_extent_dims(space, now.data(), most.data());
  if (rank < 0) return fail(Code::kInternal, "the extent of a virtual dataset is unreadable");
  layout.extent = Dims({now.data(), static_cast<unsigned>(rank)});
  layout.most = Dims({most.data(), static_cast<unsigned>(rank)});
  return {};
}

}  // namespace

Result<VirtualLayout> virtual_layout_of(const Object* dataset, hid_t dcpl, hid_t dapl) {
  VirtualLayout layout;
  std::size_t count = 0;
  if (H5Pget_virtual_count(dcpl, &count) < 0)
    return fail(Code::kInternal, "virtual mappings unreadable");
  for (std::size_t i = 0; i < count; ++i) {
    BENTO_ASSIGN(VirtualMapping mapping, mapping_in(dcpl, i));
    layout.unlimited = layout.unlimited || mapping.unlimited;
    layout.mappings.push_back(std::move(mapping));
  }
  BENTO_TRY(read_extent(dataset, layout));
  layout.least = Dims(layout.extent.rank());
  for (const VirtualMapping& mapping : layout.mappings) add_to_least(mapping, layout.least);
  layout.disjoint = known_disjoint(layout);
  hsize_t gap = 0;
  if (H5Pget_virtual_view(dapl, &layout.view) < 0 ||
      (layout.view == H5D_VDS_LAST_AVAILABLE && H5Pget_virtual_printf_gap(dapl, &gap) < 0))
    return fail(Code::kInternal, "the access list of a virtual dataset is unreadable");
  layout.gap = gap;
  return layout;
}

}  // namespace bento::vol
