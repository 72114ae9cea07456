// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/own_connector.hpp"

namespace bento::vol {

namespace {

struct Remembered {
  hid_t id = H5I_INVALID_HID;
  H5VL_class_value_t value{};
};

Remembered& remembered() {
  static Remembered instance;
  return instance;
}

}  // namespace

void remember_connector(hid_t fapl, H5VL_class_value_t value) {
  hid_t id = H5I_INVALID_HID;
  if (H5Pget_vol_id(fapl, &id) < 0) return;
  remembered() = {id, value};
  H5VLclose(id);
}

ConnectorHandle own_connector() {
  const Remembered& known = remembered();
  // HDF5 2 gives another identifier each time; 1.14 finds only those that the application holds.
  if (H5VLis_connector_registered_by_value(known.value) > 0)
    return ConnectorHandle(H5VLget_connector_id_by_value(known.value));
  // Not H5Iis_valid(): that asks whether the application holds it.
  if (H5Iget_type(known.id) == H5I_VOL && H5Iinc_ref(known.id) > 0)
    return ConnectorHandle(known.id);
  return {};
}

}  // namespace bento::vol
