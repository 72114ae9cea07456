// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/view/group_properties.hpp"

#include <vector>

#include "hdf5/base/handle.hpp"

namespace bento::vol {

namespace {

bool copy_filters(hid_t from, hid_t to) {
  const int filters = H5Pget_nfilters(from);
  if (filters < 0) return false;
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0;
    unsigned config = 0;
    std::size_t count = 0;
    const auto at = static_cast<unsigned>(i);
    if (H5Pget_filter2(from, at, &flags, &count, nullptr, 0, nullptr, &config) < 0) return false;
    std::vector<unsigned> values(count);
    const H5Z_filter_t id =
        H5Pget_filter2(from, at, &flags, &count, values.data(), 0, nullptr, &config);
    if (id < 0 || H5Pset_filter(to, id, flags, values.size(), values.data()) < 0) return false;
  }
  return true;
}

}  // namespace

Status copy_group_properties(hid_t from, hid_t list, ObjectTimes wanted) {
  const PlistHandle old(H5Gget_create_plist(from));
  unsigned flags = 0;
  unsigned first = 0;
  unsigned second = 0;
  std::size_t hint = 0;
  hbool_t times = true;
  const bool copied =
      H5Pget_link_creation_order(old.get(), &flags) >= 0 &&
      H5Pset_link_creation_order(list, flags) >= 0 &&
      H5Pget_link_phase_change(old.get(), &first, &second) >= 0 &&
      H5Pset_link_phase_change(list, first, second) >= 0 &&
      H5Pget_est_link_info(old.get(), &first, &second) >= 0 &&
      H5Pset_est_link_info(list, first, second) >= 0 &&
      H5Pget_local_heap_size_hint(old.get(), &hint) >= 0 &&
      H5Pset_local_heap_size_hint(list, hint) >= 0 &&
      H5Pget_attr_creation_order(old.get(), &flags) >= 0 &&
      H5Pset_attr_creation_order(list, flags) >= 0 &&
      H5Pget_attr_phase_change(old.get(), &first, &second) >= 0 &&
      H5Pset_attr_phase_change(list, first, second) >= 0 &&
      H5Pget_obj_track_times(old.get(), &times) >= 0 &&
      H5Pset_obj_track_times(list, times && wanted == ObjectTimes::kAsWanted) >= 0 &&
      copy_filters(old.get(), list);
  if (!copied) return fail(Code::kInternal, "a group's properties cannot be copied");
  return {};
}

}  // namespace bento::vol
