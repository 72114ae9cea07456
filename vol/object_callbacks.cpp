// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Object callbacks. All but copies belong to the skeleton alone.
#include "vol/callbacks.hpp"
#include "vol/dataset_copy.hpp"
#include "vol/h5/error_bridge.hpp"
#include "vol/object.hpp"

namespace bento::vol {

namespace {

Object* at(void* obj) { return static_cast<Object*>(obj); }

void* object_open(void* obj, const H5VL_loc_params_t* loc, H5I_type_t* opened_type, hid_t dxpl, void** req) {
  void* const under = H5VLobject_open(at(obj)->under, loc, at(obj)->under_vol_id, opened_type, dxpl, req);
  return wrap_new(under, at(obj)->under_vol_id, *opened_type);
}

herr_t object_copy(void* source, const H5VL_loc_params_t* from, const char* source_name, void* target,
                   const H5VL_loc_params_t* to, const char* target_name, hid_t ocpypl, hid_t lcpl, hid_t dxpl,
                   void** req) {
  note_collective(at(target), "object_copy", target_name);
  if (H5VLobject_copy(at(source)->under, from, source_name, at(target)->under, to, target_name,
                      at(source)->under_vol_id, ocpypl, lcpl, dxpl, req) < 0)
    return -1;
  return guard<herr_t>("object copy", [&] {
    return copy_diverted_data(at(source), *from, source_name, at(target), *to, target_name);
  });
}

herr_t object_get(void* obj, const H5VL_loc_params_t* loc, H5VL_object_get_args_t* args, hid_t dxpl, void** req) {
  return H5VLobject_get(at(obj)->under, loc, at(obj)->under_vol_id, args, dxpl, req);
}

herr_t object_specific(void* obj, const H5VL_loc_params_t* loc, H5VL_object_specific_args_t* args, hid_t dxpl,
                       void** req) {
  // A refresh closes and reopens this very object: nothing of it may be touched afterwards.
  void* const under = at(obj)->under;
  const hid_t vol = at(obj)->under_vol_id;
  if (args->op_type == H5VL_OBJECT_CHANGE_REF_COUNT) note_collective(at(obj), "change_ref_count", nullptr);
  return H5VLobject_specific(under, loc, vol, args, dxpl, req);
}

herr_t object_optional(void* obj, const H5VL_loc_params_t* loc, H5VL_optional_args_t* args, hid_t dxpl, void** req) {
  return H5VLobject_optional(at(obj)->under, loc, at(obj)->under_vol_id, args, dxpl, req);
}

}  // namespace

const H5VL_object_class_t kObjectClass = {object_open, object_copy, object_get, object_specific, object_optional};

}  // namespace bento::vol
