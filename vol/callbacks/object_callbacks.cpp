// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Object callbacks. All but copies belong to the skeleton alone.
#include <string>

#include "vol/callbacks/callbacks.hpp"
#include "vol/callbacks/entry.hpp"
#include "vol/callbacks/region_call.hpp"
#include "vol/data/dataset_copy.hpp"
#include "vol/file/file_context.hpp"
#include "vol/file/object.hpp"
#include "vol/file/reference_call.hpp"
#include "vol/file/refresh.hpp"
#include "vol/file/reserved_name.hpp"
#include "vol/file/swmr.hpp"

namespace bento::vol {

namespace {

Object* at(void* obj) {
  return static_cast<Object*>(obj);
}

void* object_open(void* obj, const H5VL_loc_params_t* loc, H5I_type_t* opened_type, hid_t dxpl,
                  void** req) noexcept {
  return hand_on("object open", [&] {
    if (!may_open(at(obj), loc, nullptr)) return static_cast<Object*>(nullptr);
    const hid_t vol = at(obj)->under_vol_id;
    void* const under = H5VLobject_open(at(obj)->under, loc, vol, opened_type, dxpl, req);
    return under != nullptr ? wrap_new(under, vol, *opened_type) : nullptr;
  });
}

herr_t object_copy(void* source, const H5VL_loc_params_t* from, const char* source_name,
                   void* target, const H5VL_loc_params_t* to, const char* target_name, hid_t ocpypl,
                   hid_t lcpl, hid_t dxpl, void** req) noexcept {
  return hand_on("object copy", [&] {
    // Objects that are copied because a reference names them have no path by which their data could
    // follow.
    unsigned flags = 0;
    if (ocpypl != H5P_DEFAULT && H5Pget_copy_object(ocpypl, &flags) >= 0 &&
        (flags & H5O_COPY_EXPAND_REFERENCE_FLAG) != 0 && context_of(at(source)) != nullptr) {
      push_error(
          "object copy",
          Error{Code::kUnsupported,
                "H5O_COPY_EXPAND_REFERENCE_FLAG is not supported for objects in a container; "
                "copy the referenced objects by name",
                0});
      return herr_t{-1};
    }
    if (refuses_reserved_name(at(target), target_name)) return herr_t{-1};
    if (!may_open(at(source), from, source_name)) return herr_t{-1};
    note_collective(at(target), "object_copy", [&] {
      return std::string(source_name != nullptr ? source_name : ".") + " -> " +
             (target_name != nullptr ? target_name : "(no name)");
    });
    const herr_t done =
        H5VLobject_copy(at(source)->under, from, source_name, at(target)->under, to, target_name,
                        at(source)->under_vol_id, ocpypl, lcpl, dxpl, req);
    if (done < 0) return done;
    return guard<herr_t>("object copy", [&] {
      return copy_diverted_data(at(source), *from, source_name, at(target), *to, target_name);
    });
  });
}

herr_t object_get(void* obj, const H5VL_loc_params_t* loc, H5VL_object_get_args_t* args, hid_t dxpl,
                  void** req) noexcept {
  if (ReferenceTarget::answers_type(*loc, *args)) return 0;
  const herr_t done = H5VLobject_get(at(obj)->under, loc, at(obj)->under_vol_id, args, dxpl, req);
  if (done >= 0 && args->op_type == H5VL_OBJECT_GET_FILE) RegionCall::file_was_asked();
  return done;
}

herr_t object_specific(void* obj, const H5VL_loc_params_t* loc, H5VL_object_specific_args_t* args,
                       hid_t dxpl, void** req) noexcept {
  if (KnownAddress::answers_lookup(*args)) return 0;
  return hand_on("object specific", [&] {
    if (args->op_type == H5VL_OBJECT_CHANGE_REF_COUNT) {
      const bool up = args->args.change_rc.delta > 0;
      note_collective(at(obj), "change_ref_count", up ? "up" : "down");
      if (const auto file = context_of(at(obj))) {
        if (up)
          file->container().note_counted_references();
        else
          file->note_deletion();
      }
    }
    if (args->op_type == H5VL_OBJECT_REFRESH && !refreshed_file(at(obj))) return herr_t{-1};
    if (args->op_type == H5VL_OBJECT_FLUSH && !begun_object_flush(at(obj))) return herr_t{-1};
    // A refresh closes and reopens this very object: nothing of it may be touched afterwards.
    return H5VLobject_specific(at(obj)->under, loc, at(obj)->under_vol_id, args, dxpl, req);
  });
}

herr_t object_optional(void* obj, const H5VL_loc_params_t* loc, H5VL_optional_args_t* args,
                       hid_t dxpl, void** req) noexcept {
  return hand_on("object optional", [&] {
    if (args->op_type == H5VL_NATIVE_OBJECT_SET_COMMENT)
      note_collective(
          at(obj), "set_comment",
          static_cast<const H5VL_native_object_optional_args_t*>(args->args)->set_comment.comment);
    return H5VLobject_optional(at(obj)->under, loc, at(obj)->under_vol_id, args, dxpl, req);
  });
}

constexpr auto kChangedByCopy = [](void*, const H5VL_loc_params_t*, const char*, void* target,
                                   auto...) -> void* { return target; };
constexpr auto kChangedBySpecific = [](void* obj, const H5VL_loc_params_t*,
                                       const H5VL_object_specific_args_t* args, auto...) -> void* {
  return args->op_type == H5VL_OBJECT_CHANGE_REF_COUNT ? obj : nullptr;
};
constexpr auto kChangedByOptional = [](void* obj, const H5VL_loc_params_t*,
                                       const H5VL_optional_args_t* args, auto...) -> void* {
  return args->op_type == H5VL_NATIVE_OBJECT_SET_COMMENT ? obj : nullptr;
};

}  // namespace

const H5VL_object_class_t kObjectClass = {
    kEntry<object_open>, kChangingEntry<object_copy, kChangedByCopy>, kEntry<object_get>,
    kChangingEntry<object_specific, kChangedBySpecific>,
    kChangingEntry<object_optional, kChangedByOptional>};

}  // namespace bento::vol
