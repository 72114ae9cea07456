// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Attribute callbacks: all of them belong to the skeleton.
#include "vol/callbacks.hpp"
#include "vol/object.hpp"

namespace bento::vol {

namespace {

Object* at(void* obj) { return static_cast<Object*>(obj); }

void* attr_create(void* obj, const H5VL_loc_params_t* loc, const char* name, hid_t type, hid_t space, hid_t acpl,
                  hid_t aapl, hid_t dxpl, void** req) {
  note_collective(at(obj), "attr_create", name);
  return wrap_new(H5VLattr_create(at(obj)->under, loc, at(obj)->under_vol_id, name, type, space, acpl, aapl, dxpl, req),
                  at(obj)->under_vol_id, H5I_ATTR);
}

void* attr_open(void* obj, const H5VL_loc_params_t* loc, const char* name, hid_t aapl, hid_t dxpl, void** req) {
  return wrap_new(H5VLattr_open(at(obj)->under, loc, at(obj)->under_vol_id, name, aapl, dxpl, req),
                  at(obj)->under_vol_id, H5I_ATTR);
}

herr_t attr_read(void* obj, hid_t type, void* buffer, hid_t dxpl, void** req) {
  return H5VLattr_read(at(obj)->under, at(obj)->under_vol_id, type, buffer, dxpl, req);
}

herr_t attr_write(void* obj, hid_t type, const void* buffer, hid_t dxpl, void** req) {
  note_collective(at(obj), "attr_write", nullptr);
  return H5VLattr_write(at(obj)->under, at(obj)->under_vol_id, type, buffer, dxpl, req);
}

herr_t attr_get(void* obj, H5VL_attr_get_args_t* args, hid_t dxpl, void** req) {
  return H5VLattr_get(at(obj)->under, at(obj)->under_vol_id, args, dxpl, req);
}

herr_t attr_specific(void* obj, const H5VL_loc_params_t* loc, H5VL_attr_specific_args_t* args, hid_t dxpl, void** req) {
  switch (args->op_type) {
    case H5VL_ATTR_DELETE:
      note_collective(at(obj), "attr_delete", args->args.del.name);
      break;
    case H5VL_ATTR_DELETE_BY_IDX:
      note_collective(at(obj), "attr_delete_by_idx", nullptr);
      break;
    case H5VL_ATTR_RENAME:
      note_collective(at(obj), "attr_rename", args->args.rename.old_name);
      break;
    default:
      break;
  }
  return H5VLattr_specific(at(obj)->under, loc, at(obj)->under_vol_id, args, dxpl, req);
}

herr_t attr_optional(void* obj, H5VL_optional_args_t* args, hid_t dxpl, void** req) {
  return H5VLattr_optional(at(obj)->under, at(obj)->under_vol_id, args, dxpl, req);
}

herr_t attr_close(void* obj, hid_t dxpl, void** req) {
  const herr_t done = H5VLattr_close(at(obj)->under, at(obj)->under_vol_id, dxpl, req);
  if (done >= 0) wrap_free(at(obj));
  return done;
}

}  // namespace

const H5VL_attr_class_t kAttributeClass = {attr_create, attr_open,     attr_read,     attr_write,
                                           attr_get,    attr_specific, attr_optional, attr_close};

}  // namespace bento::vol
