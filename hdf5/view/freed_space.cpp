// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/view/freed_space.hpp"

#include <vector>

#include "core/geometry/box.hpp"
#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/data/spaces.hpp"

namespace bento::vol {

// A chunk that is stored a second time with another size leaves such space: one of a dataset with
// filters and late allocation, of which the first write stores all chunks filled.
Status take_freed_space(hid_t file, ViewFile& view) {
  const auto refused = [] {
    return fail(Code::kInternal,
                "native view: the library does not tell what it has freed: " + innermost_error());
  };
  const ssize_t count = H5Fget_free_sections(file, H5FD_MEM_DRAW, 0, nullptr);
  if (count < 0) return refused();
  if (count == 0) return {};
  std::vector<H5F_sect_info_t> sections(static_cast<std::size_t>(count));
  if (H5Fget_free_sections(file, H5FD_MEM_DRAW, sections.size(), sections.data()) < 0)
    return refused();
  const PlistHandle list(H5Pcreate(H5P_DATASET_CREATE));
  if (H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_EARLY) < 0 ||
      H5Pset_fill_time(list.get(), H5D_FILL_TIME_NEVER) < 0)
    return refused();
  for (const H5F_sect_info_t& section : sections) {
    const SpaceHandle space = simple_space(Dims{section.size});
    DatasetHandle dataset(H5Dcreate_anon(file, H5T_STD_U8LE, space.get(), list.get(), H5P_DEFAULT));
    if (!dataset.valid()) return refused();
    view.keep(std::move(dataset));
  }
  return {};
}

}  // namespace bento::vol
