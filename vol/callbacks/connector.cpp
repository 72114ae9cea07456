// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The connector's class record, and what happens when it is loaded and unloaded.
#include <cstdlib>

#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/native_connector.hpp"
#include "hdf5/regions/region_store.hpp"
#include "hdf5/skeleton/driver.hpp"
#include "hdf5/view/view_file.hpp"
#include "vol/callbacks/callbacks.hpp"
#include "vol/file/container_open.hpp"
#include "vol/file/file_place.hpp"
#include "vol/file/info.hpp"
#include "vol/file/stats.hpp"

namespace bento::vol {

// 0..255 belong to the library, 256..511 are for tests; above, The HDF Group registers values.
const H5VL_class_value_t kConnectorValue = static_cast<H5VL_class_value_t>(565);

namespace {

herr_t initialize(hid_t) noexcept {
  return hand_on("initialize", []() -> herr_t {
    error_class_open();
    set_foreign_opener(open_foreign);
    if (const char* const output = std::getenv("H5BENTO_STATS")) Stats::get().set_output(output);
    return 0;
  });
}

// The library is half gone by now: no HDF5 and no MPI calls, so no record on the error stack
// either.
herr_t terminate() noexcept {
  herr_t done = 0;
  try {
    Stats::get().write_out();
  } catch (...) {
    done = -1;
  }
  error_class_forget();
  native_connector_forget();
  skeleton_driver_forget();
  view_driver_forget();
  region_driver_forget();
  places_forget();
  return done;
}

// All that the native connector of 1.14.5 says of itself.
constexpr std::uint64_t kCapabilities =
    H5VL_CAP_FLAG_ATTR_BASIC | H5VL_CAP_FLAG_ATTR_MORE | H5VL_CAP_FLAG_DATASET_BASIC |
    H5VL_CAP_FLAG_DATASET_MORE | H5VL_CAP_FLAG_FILE_BASIC | H5VL_CAP_FLAG_FILE_MORE |
    H5VL_CAP_FLAG_GROUP_BASIC | H5VL_CAP_FLAG_GROUP_MORE | H5VL_CAP_FLAG_LINK_BASIC |
    H5VL_CAP_FLAG_LINK_MORE | H5VL_CAP_FLAG_OBJECT_BASIC | H5VL_CAP_FLAG_OBJECT_MORE |
    H5VL_CAP_FLAG_REF_BASIC | H5VL_CAP_FLAG_REF_MORE | H5VL_CAP_FLAG_OBJ_REF |
    H5VL_CAP_FLAG_REG_REF | H5VL_CAP_FLAG_ATTR_REF | H5VL_CAP_FLAG_STORED_DATATYPES |
    H5VL_CAP_FLAG_CREATION_ORDER | H5VL_CAP_FLAG_ITERATE | H5VL_CAP_FLAG_STORAGE_SIZE |
    H5VL_CAP_FLAG_BY_IDX | H5VL_CAP_FLAG_GET_PLIST | H5VL_CAP_FLAG_FLUSH_REFRESH |
    H5VL_CAP_FLAG_EXTERNAL_LINKS | H5VL_CAP_FLAG_HARD_LINKS | H5VL_CAP_FLAG_SOFT_LINKS |
    H5VL_CAP_FLAG_UD_LINKS | H5VL_CAP_FLAG_TRACK_TIMES | H5VL_CAP_FLAG_MOUNT |
    H5VL_CAP_FLAG_FILTERS | H5VL_CAP_FLAG_FILL_VALUES | H5VL_CAP_FLAG_NATIVE_FILES;

}  // namespace

const H5VL_class_t& connector_class() {
  // Built on first use: the record refers to constants of other translation units.
  static const H5VL_class_t instance = [] {
    H5VL_class_t cls{};
    cls.version = H5VL_VERSION;
    cls.value = kConnectorValue;
    cls.name = "bento";
    cls.conn_version = 0x000100;
    cls.cap_flags = kCapabilities;
    cls.initialize = initialize;
    cls.terminate = terminate;
    cls.info_cls = kInfoClass;
    cls.wrap_cls = kWrapClass;
    cls.attr_cls = kAttributeClass;
    cls.dataset_cls = kDatasetClass;
    cls.datatype_cls = kDatatypeClass;
    cls.file_cls = kFileClass;
    cls.group_cls = kGroupClass;
    cls.link_cls = kLinkClass;
    cls.object_cls = kObjectClass;
    cls.introspect_cls = kIntrospectClass;
    cls.request_cls = kRequestClass;
    cls.blob_cls = kBlobClass;
    cls.token_cls = kTokenClass;
    cls.optional = connector_optional;
    return cls;
  }();
  return instance;
}

}  // namespace bento::vol
