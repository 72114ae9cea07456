// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/data/spaces.hpp"

#include <array>

namespace bento::vol {

SpaceHandle simple_space(const Dims& extent) {
  if (extent.rank() == 0) return SpaceHandle(H5Screate(H5S_SCALAR));
  std::array<hsize_t, kMaxRank> dims{};
  for (unsigned d = 0; d < extent.rank(); ++d) dims[d] = extent[d];
  return SpaceHandle(H5Screate_simple(static_cast<int>(extent.rank()), dims.data(), nullptr));
}

Status select_box(hid_t space, const Box& box) {
  return select_boxes(space, box, 0, 1, 1);
}

Status select_boxes(hid_t space, const Box& first, unsigned dim, std::uint64_t repeat,
                    std::uint64_t stride) {
  std::array<hsize_t, kMaxRank> start{};
  std::array<hsize_t, kMaxRank> strides{};
  std::array<hsize_t, kMaxRank> count{};
  std::array<hsize_t, kMaxRank> block{};
  for (unsigned d = 0; d < first.rank(); ++d) {
    start[d] = first.start[d];
    block[d] = first.count[d];
    strides[d] = first.count[d];
    count[d] = 1;
  }
  if (repeat > 1) {
    count[dim] = repeat;
    strides[dim] = stride;
  }
  if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), strides.data(), count.data(),
                          block.data()) < 0)
    return fail(Code::kInternal, "a box cannot be selected");
  return {};
}

}  // namespace bento::vol
