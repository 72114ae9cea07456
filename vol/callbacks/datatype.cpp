// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Committed datatype callbacks: all of them belong to the skeleton.
#include <fmt/format.h>

#include "vol/callbacks/callbacks.hpp"
#include "vol/callbacks/entry.hpp"
#include "vol/file/arguments.hpp"
#include "vol/file/object.hpp"
#include "vol/file/refresh.hpp"
#include "vol/file/reserved_name.hpp"
#include "vol/file/swmr.hpp"

namespace bento::vol {

namespace {

Object* at(void* obj) {
  return static_cast<Object*>(obj);
}

void* datatype_commit(void* obj, const H5VL_loc_params_t* loc, const char* name, hid_t type,
                      hid_t lcpl, hid_t tcpl, hid_t tapl, hid_t dxpl, void** req) noexcept {
  return hand_on("datatype commit", [&] {
    if (refuses_reserved_name(at(obj), name)) return static_cast<Object*>(nullptr);
    note_collective(at(obj), "datatype_commit", [&] {
      return fmt::format("{}: {}", name != nullptr ? name : "(no name)", type_text(type));
    });
    const hid_t vol = at(obj)->under_vol_id;
    Object* const committed = wrap_new(
        H5VLdatatype_commit(at(obj)->under, loc, vol, name, type, lcpl, tcpl, tapl, dxpl, req), vol,
        H5I_DATATYPE);
    (void)refuse_linked_change(committed);
    return committed;
  });
}

void* datatype_open(void* obj, const H5VL_loc_params_t* loc, const char* name, hid_t tapl,
                    hid_t dxpl, void** req) noexcept {
  return hand_on("datatype open", [&] {
    if (!may_open(at(obj), loc, name)) return static_cast<Object*>(nullptr);
    const hid_t vol = at(obj)->under_vol_id;
    return wrap_new(H5VLdatatype_open(at(obj)->under, loc, vol, name, tapl, dxpl, req), vol,
                    H5I_DATATYPE);
  });
}

herr_t datatype_get(void* obj, H5VL_datatype_get_args_t* args, hid_t dxpl, void** req) noexcept {
  return H5VLdatatype_get(at(obj)->under, at(obj)->under_vol_id, args, dxpl, req);
}

herr_t datatype_specific(void* obj, H5VL_datatype_specific_args_t* args, hid_t dxpl,
                         void** req) noexcept {
  if (args->op_type == H5VL_DATATYPE_REFRESH && !refreshed_file(at(obj))) return -1;
  if (args->op_type == H5VL_DATATYPE_FLUSH && !begun_object_flush(at(obj))) return -1;
  // A refresh closes and reopens this very object: nothing of it may be touched afterwards.
  return H5VLdatatype_specific(at(obj)->under, at(obj)->under_vol_id, args, dxpl, req);
}

herr_t datatype_optional(void* obj, H5VL_optional_args_t* args, hid_t dxpl, void** req) noexcept {
  return H5VLdatatype_optional(at(obj)->under, at(obj)->under_vol_id, args, dxpl, req);
}

herr_t datatype_close(void* obj, hid_t dxpl, void** req) noexcept {
  return close_object(at(obj), H5VLdatatype_close, dxpl, req);
}

}  // namespace

const H5VL_datatype_class_t kDatatypeClass = {
    kChangingEntry<datatype_commit>, kEntry<datatype_open>,     kEntry<datatype_get>,
    kEntry<datatype_specific>,       kEntry<datatype_optional>, kEntry<datatype_close>};

}  // namespace bento::vol
