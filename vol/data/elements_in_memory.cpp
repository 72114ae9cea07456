// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/elements_in_memory.hpp"

#include <cstring>

#include "core/geometry/box_run.hpp"
#include "hdf5/data/selection.hpp"

namespace bento::vol {

Status ElementsInMemory::take(hid_t space) {
  const hssize_t selected = H5Sget_select_npoints(space);
  const H5S_sel_type kind = H5Sget_select_type(space);
  elements_ = static_cast<std::uint64_t>(selected);
  space_ = space;
  if (kind == H5S_SEL_ALL || selected == 0) return {};
  first_.reset();
  BENTO_ASSIGN(const Dims extent, extent_of(space));
  if (kind != H5S_SEL_HYPERSLABS) {
    BENTO_TRY(bounds_of(space, extent));
    return {};
  }
  Box block;
  BENTO_ASSIGN(const bool single, single_block(space, extent, elements_, block));
  if (single) {
    place(block, Box::whole(extent));
    return {};
  }
  BENTO_ASSIGN(meant_, MeantSelection::of_hyperslabs(space, selected));
  space_ = meant_.get();
  BENTO_ASSIGN(const Box bounds, bounds_of(space_, extent));
  if (bounds.elements() == elements_) place(bounds, Box::whole(extent));
  return {};
}

void ElementsInMemory::place(const Box& box, const Box& extent) {
  if (is_contiguous_in(extent, box)) {
    first_ = row_major_offset(extent, box);
  } else {
    box_ = box;
    extent_ = extent;
  }
}

void ElementsInMemory::gather(const void* buffer, std::size_t element_bytes, std::uint64_t begin,
                              std::uint64_t count, std::byte* to) const {
  const auto* const from = static_cast<const std::byte*>(buffer);
  if (first_) {
    std::memcpy(to, from + (*first_ + begin) * element_bytes, count * element_bytes);
    return;
  }
  for (const Box& part : boxes_of_run(*box_, begin, begin + count)) {
    copy_box(part, extent_, from, part, to, element_bytes);
    to += part.elements() * element_bytes;
  }
}

void ElementsInMemory::scatter(const std::byte* from, std::size_t element_bytes,
                               std::uint64_t begin, std::uint64_t count, void* buffer) const {
  auto* const to = static_cast<std::byte*>(buffer);
  if (first_) {
    std::memcpy(to + (*first_ + begin) * element_bytes, from, count * element_bytes);
    return;
  }
  for (const Box& part : boxes_of_run(*box_, begin, begin + count)) {
    copy_box(part, part, from, extent_, to, element_bytes);
    from += part.elements() * element_bytes;
  }
}

}  // namespace bento::vol
