// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Link callbacks: all of them belong to the skeleton.
#include "vol/callbacks.hpp"
#include "vol/object.hpp"

namespace bento::vol {

namespace {

Object* at(void* obj) { return static_cast<Object*>(obj); }
void* under(void* obj) { return obj != nullptr ? at(obj)->under : nullptr; }
// Either side of a link call may be null (H5L_SAME_LOC): the other one then says which connector.
hid_t vol_of(void* a, void* b) { return at(a != nullptr ? a : b)->under_vol_id; }

herr_t link_create(H5VL_link_create_args_t* args, void* obj, const H5VL_loc_params_t* loc, hid_t lcpl, hid_t lapl,
                   hid_t dxpl, void** req) {
  H5VL_link_create_args_t native = *args;
  void* current = nullptr;
  if (args->op_type == H5VL_LINK_CREATE_HARD) {
    current = args->args.hard.curr_obj;
    native.args.hard.curr_obj = under(current);
  }
  note_collective(at(obj != nullptr ? obj : current), "link_create",
                  loc->type == H5VL_OBJECT_BY_NAME ? loc->loc_data.loc_by_name.name : nullptr);
  return H5VLlink_create(&native, under(obj), loc, vol_of(obj, current), lcpl, lapl, dxpl, req);
}

herr_t link_copy(void* source, const H5VL_loc_params_t* from, void* target, const H5VL_loc_params_t* to, hid_t lcpl,
                 hid_t lapl, hid_t dxpl, void** req) {
  note_collective(at(target != nullptr ? target : source), "link_copy", nullptr);
  return H5VLlink_copy(under(source), from, under(target), to, vol_of(source, target), lcpl, lapl, dxpl, req);
}

herr_t link_move(void* source, const H5VL_loc_params_t* from, void* target, const H5VL_loc_params_t* to, hid_t lcpl,
                 hid_t lapl, hid_t dxpl, void** req) {
  note_collective(at(target != nullptr ? target : source), "link_move", nullptr);
  return H5VLlink_move(under(source), from, under(target), to, vol_of(source, target), lcpl, lapl, dxpl, req);
}

herr_t link_get(void* obj, const H5VL_loc_params_t* loc, H5VL_link_get_args_t* args, hid_t dxpl, void** req) {
  return H5VLlink_get(under(obj), loc, at(obj)->under_vol_id, args, dxpl, req);
}

herr_t link_specific(void* obj, const H5VL_loc_params_t* loc, H5VL_link_specific_args_t* args, hid_t dxpl, void** req) {
  if (args->op_type == H5VL_LINK_DELETE)
    note_collective(at(obj), "link_delete",
                    loc->type == H5VL_OBJECT_BY_NAME ? loc->loc_data.loc_by_name.name : nullptr);
  return H5VLlink_specific(under(obj), loc, at(obj)->under_vol_id, args, dxpl, req);
}

herr_t link_optional(void* obj, const H5VL_loc_params_t* loc, H5VL_optional_args_t* args, hid_t dxpl, void** req) {
  return H5VLlink_optional(under(obj), loc, at(obj)->under_vol_id, args, dxpl, req);
}

}  // namespace

const H5VL_link_class_t kLinkClass = {link_create, link_copy, link_move, link_get, link_specific, link_optional};

}  // namespace bento::vol
