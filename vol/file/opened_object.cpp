// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/opened_object.hpp"

#include "hdf5/base/handle.hpp"
#include "hdf5/base/native_connector.hpp"

namespace bento::vol {

OpenedObject::OpenedObject(const Object* where, H5I_type_t type, const std::string& name) {
  const auto place = by_name(type, name.c_str());
  object_.under_vol_id = where->under_vol_id;
  object_.under = H5VLobject_open(where->under, &place, object_.under_vol_id, &object_.type,
                                  H5P_DATASET_XFER_DEFAULT, nullptr);
}

OpenedObject::~OpenedObject() {
  if (object_.under == nullptr) return;
  object_.dataset.reset();
  const ErrorStackKeeper keep;
  const hid_t dxpl = H5P_DATASET_XFER_DEFAULT;
  if (object_.type == H5I_DATASET)
    H5VLdataset_close(object_.under, object_.under_vol_id, dxpl, nullptr);
  if (object_.type == H5I_GROUP)
    H5VLgroup_close(object_.under, object_.under_vol_id, dxpl, nullptr);
  if (object_.type == H5I_DATATYPE)
    H5VLdatatype_close(object_.under, object_.under_vol_id, dxpl, nullptr);
}

}  // namespace bento::vol
