// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/callbacks/left_open.hpp"

#include <algorithm>
#include <vector>

#include <hdf5.h>

#include "core/base/guarded.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/skeleton/open_files.hpp"
#include "vol/callbacks/callbacks.hpp"

namespace bento::vol {

namespace {

/// Those that the program holds, of all files and connectors.
std::vector<hid_t> open_ids(unsigned types) {
  const ssize_t count = H5Fget_obj_count(static_cast<hid_t>(H5F_OBJ_ALL), types);
  std::vector<hid_t> ids(count > 0 ? static_cast<std::size_t>(count) : 0);
  if (ids.empty()) return ids;
  const ssize_t got =
      H5Fget_obj_ids(static_cast<hid_t>(H5F_OBJ_ALL), types, ids.size(), ids.data());
  ids.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  std::sort(ids.begin(), ids.end());
  return ids;
}

bool is_of_connector(hid_t id, hid_t connector) {
  if (H5Iget_type(id) == H5I_DATATYPE && H5Tcommitted(id) <= 0) return false;
  const hid_t its = H5VLget_connector_id(id);
  if (its < 0) return false;
  H5VLclose(its);
  return its == connector;
}

bool is_inherited(hid_t file) {
  unsigned long number = 0;
  if (H5Fget_fileno(file, &number) < 0) return false;
  const auto host = host_of_fileno(number);
  return host && host->identity().inherited != 0;
}

void close_all(unsigned types, hid_t connector) {
  for (const hid_t id : open_ids(types)) {
    if (!is_of_connector(id, connector)) continue;
    if (types == H5F_OBJ_FILE && is_inherited(id)) continue;
    for (int references = H5Iget_ref(id); references > 0; --references)
      if (H5Idec_ref(id) < 0) break;
  }
}

bool asked = false;  // since the library was started

void close_left_open() {
  if (H5VLis_connector_registered_by_value(kConnectorValue) <= 0) return;
  const hid_t connector = H5VLget_connector_id_by_value(kConnectorValue);
  if (connector < 0) return;
  for (const unsigned types : {H5F_OBJ_ATTR, H5F_OBJ_DATASET, H5F_OBJ_GROUP, H5F_OBJ_DATATYPE})
    close_all(types, connector);
  close_all(H5F_OBJ_FILE, connector);
  H5VLclose(connector);
}

void at_end(void*) noexcept {
  asked = false;
  // Without memory for the list HDF5 closes them itself, later.
  (void)guarded([]() -> Status {
    close_left_open();
    return {};
  });
}

}  // namespace

void close_at_library_end() {
  if (asked) return;
  const ErrorStackKeeper keep;
  asked = H5atclose(at_end, nullptr) >= 0;
}

}  // namespace bento::vol
