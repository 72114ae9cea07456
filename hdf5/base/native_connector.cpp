// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/base/native_connector.hpp"

#include <H5VLnative.h>

#include "hdf5/base/handle.hpp"

namespace bento::vol {

namespace {
hid_t g_native = H5I_INVALID_HID;
}

hid_t native_connector() {
  // 1.14 has one id for it; newer versions register another with each look-up, so the first one is
  // kept. Its reference is never dropped: no HDF5 call may be made in terminate, and the library
  // then drops it itself.
  if (g_native < 0) {
    const ErrorStackKeeper keep;
    g_native = H5VLget_connector_id_by_name("native");
  }
  return g_native;
}

void native_connector_forget() noexcept {
  g_native = H5I_INVALID_HID;
}

}  // namespace bento::vol
