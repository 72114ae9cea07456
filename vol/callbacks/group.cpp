// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Group callbacks: all of them belong to the skeleton.
#include "hdf5/base/native_connector.hpp"
#include "vol/callbacks/callbacks.hpp"
#include "vol/callbacks/entry.hpp"
#include "vol/file/mounts.hpp"
#include "vol/file/object.hpp"
#include "vol/file/refresh.hpp"
#include "vol/file/reserved_name.hpp"
#include "vol/file/swmr.hpp"

namespace bento::vol {

namespace {

Object* at(void* obj) {
  return static_cast<Object*>(obj);
}

void* group_create(void* obj, const H5VL_loc_params_t* loc, const char* name, hid_t lcpl,
                   hid_t gcpl, hid_t gapl, hid_t dxpl, void** req) noexcept {
  return hand_on("group create", [&] {
    if (refuses_reserved_name(at(obj), name)) return static_cast<Object*>(nullptr);
    note_collective(at(obj), "group_create", name);
    const hid_t vol = at(obj)->under_vol_id;
    Object* const group =
        wrap_new(H5VLgroup_create(at(obj)->under, loc, vol, name, lcpl, gcpl, gapl, dxpl, req), vol,
                 H5I_GROUP);
    (void)refuse_linked_change(group);
    return group;
  });
}

void* group_open(void* obj, const H5VL_loc_params_t* loc, const char* name, hid_t gapl, hid_t dxpl,
                 void** req) noexcept {
  return hand_on("group open", [&] {
    if (!may_open(at(obj), loc, name)) return static_cast<Object*>(nullptr);
    const hid_t vol = at(obj)->under_vol_id;
    return wrap_new(H5VLgroup_open(at(obj)->under, loc, vol, name, gapl, dxpl, req), vol,
                    H5I_GROUP);
  });
}

herr_t group_get(void* obj, H5VL_group_get_args_t* args, hid_t dxpl, void** req) noexcept {
  return H5VLgroup_get(at(obj)->under, at(obj)->under_vol_id, args, dxpl, req);
}

herr_t group_specific(void* obj, H5VL_group_specific_args_t* args, hid_t dxpl,
                      void** req) noexcept {
  if (args->op_type == H5VL_GROUP_REFRESH && !refreshed_file(at(obj))) return -1;
  if (args->op_type == H5VL_GROUP_FLUSH && !begun_object_flush(at(obj))) return -1;
  // A refresh closes and reopens this very object: nothing of it may be touched afterwards.
  void* const under = at(obj)->under;
  const hid_t vol = at(obj)->under_vol_id;
  if (args->op_type == H5VL_GROUP_UNMOUNT) {
    const auto child = mounted_at(at(obj), by_self(at(obj)->type), args->args.unmount.name);
    const herr_t done = H5VLgroup_specific(under, vol, args, dxpl, req);
    if (done >= 0 && child) note_unmounted(*child);
    return done;
  }
  if (args->op_type != H5VL_GROUP_MOUNT) return H5VLgroup_specific(under, vol, args, dxpl, req);
  H5VL_group_specific_args_t native = *args;
  native.args.mount.child_file = at(args->args.mount.child_file)->under;
  const MountPlace above{fileno_of(at(obj)), context_of(at(obj))};
  const herr_t done = H5VLgroup_specific(under, vol, &native, dxpl, req);
  if (done >= 0) note_mounted(above, at(args->args.mount.child_file));
  return done;
}

herr_t group_optional(void* obj, H5VL_optional_args_t* args, hid_t dxpl, void** req) noexcept {
  return H5VLgroup_optional(at(obj)->under, at(obj)->under_vol_id, args, dxpl, req);
}

herr_t group_close(void* obj, hid_t dxpl, void** req) noexcept {
  return close_object(at(obj), H5VLgroup_close, dxpl, req);
}

}  // namespace

const H5VL_group_class_t kGroupClass = {
    kChangingEntry<group_create>, kEntry<group_open>,     kEntry<group_get>,
    kEntry<group_specific>,       kEntry<group_optional>, kEntry<group_close>};

}  // namespace bento::vol
