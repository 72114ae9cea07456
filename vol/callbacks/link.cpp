// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Link callbacks: all of them belong to the skeleton.
#include <string>

#include <fmt/format.h>

#include "vol/callbacks/callbacks.hpp"
#include "vol/callbacks/entry.hpp"
#include "vol/file/file_context.hpp"
#include "vol/file/object.hpp"
#include "vol/file/reserved_name.hpp"
#include "vol/file/shared_groups.hpp"

namespace bento::vol {

namespace {

Object* at(void* obj) {
  return static_cast<Object*>(obj);
}
void* under(void* obj) {
  return obj != nullptr ? at(obj)->under : nullptr;
}
// Either side of a link call may be null (H5L_SAME_LOC): the other one then says which connector
// and file.
Object* either(void* a, void* b) {
  return at(a != nullptr ? a : b);
}

const char* name_in(const H5VL_loc_params_t& loc) {
  return loc.type == H5VL_OBJECT_BY_NAME ? loc.loc_data.loc_by_name.name : nullptr;
}

std::string text_in(const H5VL_loc_params_t& loc) {
  const char* const name = name_in(loc);
  return name != nullptr ? name : "(no name)";
}

/// Name, and what it leads to.
std::string link_text(const H5VL_link_create_args_t& args, const H5VL_loc_params_t& loc) {
  std::string name = text_in(loc);
  if (args.op_type == H5VL_LINK_CREATE_SOFT) return name + " -> " + args.args.soft.target;
  if (args.op_type == H5VL_LINK_CREATE_HARD)
    return name + " = " + text_in(args.args.hard.curr_loc_params);
  const char* file = nullptr;
  const char* path = nullptr;
  if (args.args.ud.type != H5L_TYPE_EXTERNAL ||
      H5Lunpack_elink_val(args.args.ud.buf, args.args.ud.buf_size, nullptr, &file, &path) < 0)
    return name;
  return fmt::format("{} -> {}:{}", name, file, path);
}

herr_t link_create(H5VL_link_create_args_t* args, void* obj, const H5VL_loc_params_t* loc,
                   hid_t lcpl, hid_t lapl, hid_t dxpl, void** req) noexcept {
  return hand_on("link create", [&] {
    H5VL_link_create_args_t native = *args;
    void* current = nullptr;
    if (args->op_type == H5VL_LINK_CREATE_HARD) {
      current = args->args.hard.curr_obj;
      native.args.hard.curr_obj = under(current);
    }
    Object* const known = either(obj, current);
    if (refuses_reserved_name(known, name_in(*loc))) return -1;
    note_collective(known, "link_create", [&] { return link_text(*args, *loc); });
    if (args->op_type == H5VL_LINK_CREATE_HARD)
      note_shared_group(at(current != nullptr ? current : obj), args->args.hard.curr_loc_params, 1);
    return H5VLlink_create(&native, under(obj), loc, known->under_vol_id, lcpl, lapl, dxpl, req);
  });
}

herr_t link_copy(void* source, const H5VL_loc_params_t* from, void* target,
                 const H5VL_loc_params_t* to, hid_t lcpl, hid_t lapl, hid_t dxpl,
                 void** req) noexcept {
  return hand_on("link copy", [&] {
    Object* const known = either(target, source);
    if (refuses_reserved_name(known, name_in(*to))) return -1;
    note_collective(known, "link_copy", [&] { return text_in(*from) + " -> " + text_in(*to); });
    note_shared_group(at(source != nullptr ? source : target), *from, 1);
    return H5VLlink_copy(under(source), from, under(target), to, known->under_vol_id, lcpl, lapl,
                         dxpl, req);
  });
}

herr_t link_move(void* source, const H5VL_loc_params_t* from, void* target,
                 const H5VL_loc_params_t* to, hid_t lcpl, hid_t lapl, hid_t dxpl,
                 void** req) noexcept {
  return hand_on("link move", [&] {
    Object* const known = either(target, source);
    if (refuses_reserved_name(known, name_in(*to))) return -1;
    note_collective(known, "link_move", [&] { return text_in(*from) + " -> " + text_in(*to); });
    return H5VLlink_move(under(source), from, under(target), to, known->under_vol_id, lcpl, lapl,
                         dxpl, req);
  });
}

herr_t link_get(void* obj, const H5VL_loc_params_t* loc, H5VL_link_get_args_t* args, hid_t dxpl,
                void** req) noexcept {
  return H5VLlink_get(at(obj)->under, loc, at(obj)->under_vol_id, args, dxpl, req);
}

herr_t link_specific(void* obj, const H5VL_loc_params_t* loc, H5VL_link_specific_args_t* args,
                     hid_t dxpl, void** req) noexcept {
  return hand_on("link specific", [&] {
    if (args->op_type == H5VL_LINK_DELETE) {
      note_collective(at(obj), "link_delete", name_in(*loc));
      if (const auto file = context_of(at(obj))) file->note_deletion();
    }
    return H5VLlink_specific(at(obj)->under, loc, at(obj)->under_vol_id, args, dxpl, req);
  });
}

herr_t link_optional(void* obj, const H5VL_loc_params_t* loc, H5VL_optional_args_t* args,
                     hid_t dxpl, void** req) noexcept {
  return H5VLlink_optional(at(obj)->under, loc, at(obj)->under_vol_id, args, dxpl, req);
}

constexpr auto kChangedByCreate = [](const H5VL_link_create_args_t* args, void* obj,
                                     auto...) -> void* {
  return obj == nullptr && args->op_type == H5VL_LINK_CREATE_HARD ? args->args.hard.curr_obj : obj;
};
constexpr auto kChangedByMove = [](void* source, const H5VL_loc_params_t*, void* target,
                                   auto...) -> void* { return either(target, source); };
constexpr auto kChangedBySpecific = [](void* obj, const H5VL_loc_params_t*,
                                       const H5VL_link_specific_args_t* args, auto...) -> void* {
  return args->op_type == H5VL_LINK_DELETE ? obj : nullptr;
};

}  // namespace

const H5VL_link_class_t kLinkClass = {
    kChangingEntry<link_create, kChangedByCreate>,     kChangingEntry<link_copy, kChangedByMove>,
    kChangingEntry<link_move, kChangedByMove>,         kEntry<link_get>,
    kChangingEntry<link_specific, kChangedBySpecific>, kEntry<link_optional>};

}  // namespace bento::vol
