// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/callbacks/left_open.hpp"

#include <algorithm>
#include <vector>

#include <hdf5.h>

#include "core/base/guarded.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/base/library_version.hpp"
#include "hdf5/base/memory_file.hpp"
#include "hdf5/base/quiet_errors.hpp"
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
  // Not the ids: HDF5 2 gives another one for the same connector each time.
  int difference = 1;
  const herr_t compared = H5VLcmp_connector_cls(&difference, its, connector);
  H5VLclose(its);
  return compared >= 0 && difference == 0;
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

/// While HDF5 2 ends, calls into those of its parts that were not used before do nothing, and
/// report success: what is flushed then for the first time is not written. So its parts are used
/// once, in a small file in memory.
void use_all_parts() {
  const QuietErrors quiet;
  const auto made = make_memory_file("the end of the process", 4096);
  if (!made) return;
  const FileHandle& file = *made;
  const hsize_t extent = 4;
  const hsize_t chunk = 2;
  const SpaceHandle space(H5Screate_simple(1, &extent, nullptr));
  const TypeHandle text(H5Tcopy(H5T_C_S1));
  const PlistHandle chunked(H5Pcreate(H5P_DATASET_CREATE));
  if (H5Tset_size(text.get(), H5T_VARIABLE) < 0 || H5Pset_chunk(chunked.get(), 1, &chunk) < 0)
    return;
  const GroupHandle group(H5Gcreate2(file.get(), "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  const AttributeHandle attribute(
      H5Acreate2(group.get(), "a", H5T_NATIVE_INT, space.get(), H5P_DEFAULT, H5P_DEFAULT));
  const DatasetHandle numbers(H5Dcreate2(file.get(), "n", H5T_NATIVE_INT, space.get(), H5P_DEFAULT,
                                         chunked.get(), H5P_DEFAULT));
  const DatasetHandle words(
      H5Dcreate2(file.get(), "w", text.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  const int values[4] = {};
  const char* const texts[4] = {"a", "b", "c", "d"};
  (void)(H5Awrite(attribute.get(), H5T_NATIVE_INT, values) < 0 ||
         H5Dwrite(numbers.get(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0 ||
         H5Dwrite(words.get(), text.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT,
                  static_cast<const void*>(texts)) < 0 ||
         H5Fflush(file.get(), H5F_SCOPE_GLOBAL) < 0);
}

}  // namespace

void close_at_library_end() {
  if (asked) return;
  const ErrorStackKeeper keep;
  if (is_hdf5_2()) use_all_parts();
  asked = H5atclose(at_end, nullptr) >= 0;
}

}  // namespace bento::vol
