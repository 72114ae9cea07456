// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Attribute callbacks: all of them belong to the skeleton.
#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/types.hpp"
#include "vol/callbacks/callbacks.hpp"
#include "vol/callbacks/entry.hpp"
#include "vol/callbacks/native_failed.hpp"
#include "vol/file/object.hpp"
#include "vol/file/skeleton_regions.hpp"

namespace bento::vol {

namespace {

Object* at(void* obj) {
  return static_cast<Object*>(obj);
}

/// An attribute of a dataset lies in the same file.
void* wrap_attribute(void* under, const Object* object, const H5VL_loc_params_t& loc) {
  Object* const attribute = wrap_new(under, object->under_vol_id, H5I_ATTR);
  if (attribute != nullptr && loc.type == H5VL_OBJECT_BY_SELF && object->type == H5I_DATASET)
    attribute->fileno = object->fileno;
  return attribute;
}

void* attr_create(void* obj, const H5VL_loc_params_t* loc, const char* name, hid_t type,
                  hid_t space, hid_t acpl, hid_t aapl, hid_t dxpl, void** req) noexcept {
  return hand_on("attribute create", [&] {
    note_collective(at(obj), "attr_create", name);
    return wrap_attribute(H5VLattr_create(at(obj)->under, loc, at(obj)->under_vol_id, name, type,
                                          space, acpl, aapl, dxpl, req),
                          at(obj), *loc);
  });
}

void* attr_open(void* obj, const H5VL_loc_params_t* loc, const char* name, hid_t aapl, hid_t dxpl,
                void** req) noexcept {
  return hand_on("attribute open", [&] {
    return wrap_attribute(
        H5VLattr_open(at(obj)->under, loc, at(obj)->under_vol_id, name, aapl, dxpl, req), at(obj),
        *loc);
  });
}

bool leads_somewhere(hid_t type) {
  return !is_predefined_number(type) && H5Tdetect_class(type, H5T_REFERENCE) > 0;
}

Result<std::size_t> count_of(const Object* attribute) {
  H5VL_attr_get_args_t args{};
  args.op_type = H5VL_ATTR_GET_SPACE;
  if (H5VLattr_get(attribute->under, attribute->under_vol_id, &args, H5P_DATASET_XFER_DEFAULT,
                   nullptr) < 0)
    return fail(native_failed("attribute get"));
  const SpaceHandle space(args.args.get_space.space_id);
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  if (count < 0) return fail(Code::kInternal, "the attribute's extent is unreadable");
  return static_cast<std::size_t>(count);
}

herr_t attr_read(void* obj, hid_t type, void* buffer, hid_t dxpl, void** req) noexcept {
  const herr_t done = H5VLattr_read(at(obj)->under, at(obj)->under_vol_id, type, buffer, dxpl, req);
  if (done < 0 || !leads_somewhere(type)) return done;
  return guard<herr_t>("attribute read", [&]() -> Status {
    const auto file = keeper_of_regions(at(obj), type);
    if (!file) return {};
    BENTO_ASSIGN(const std::size_t count, count_of(at(obj)));
    return take_regions(*file, type, static_cast<std::byte*>(buffer), count);
  });
}

herr_t attr_write(void* obj, hid_t type, const void* buffer, hid_t dxpl, void** req) noexcept {
  const auto write = [&](const void* elements) {
    return H5VLattr_write(at(obj)->under, at(obj)->under_vol_id, type, elements, dxpl, req);
  };
  return hand_on("attribute write", [&] {
    note_collective(at(obj), "attr_write", nullptr);
    if (!leads_somewhere(type)) return write(buffer);
    const auto file = keeper_of_regions(at(obj), type);
    if (!file) return write(buffer);
    return guard<herr_t>("attribute write", [&]() -> Status {
      BENTO_ASSIGN(const std::size_t count, count_of(at(obj)));
      return write_with_regions(at(obj), *file, type, static_cast<const std::byte*>(buffer), count,
                                write);
    });
  });
}

herr_t attr_get(void* obj, H5VL_attr_get_args_t* args, hid_t dxpl, void** req) noexcept {
  return H5VLattr_get(at(obj)->under, at(obj)->under_vol_id, args, dxpl, req);
}

void note_attr_specific(const Object* object, const H5VL_attr_specific_args_t& args) {
  switch (args.op_type) {
    case H5VL_ATTR_DELETE:
      return note_collective(object, "attr_delete", args.args.del.name);
    case H5VL_ATTR_DELETE_BY_IDX:
      return note_collective(object, "attr_delete_by_idx", nullptr);
    case H5VL_ATTR_RENAME:
      return note_collective(object, "attr_rename", args.args.rename.new_name);
    case H5VL_ATTR_EXISTS:
    case H5VL_ATTR_ITER:
      return;
  }
}

herr_t attr_specific(void* obj, const H5VL_loc_params_t* loc, H5VL_attr_specific_args_t* args,
                     hid_t dxpl, void** req) noexcept {
  return hand_on("attribute specific", [&] {
    note_attr_specific(at(obj), *args);
    return H5VLattr_specific(at(obj)->under, loc, at(obj)->under_vol_id, args, dxpl, req);
  });
}

constexpr auto kChangedBySpecific = [](void* obj, const H5VL_loc_params_t*,
                                       const H5VL_attr_specific_args_t* args, hid_t,
                                       void**) -> void* {
  const bool reads = args->op_type == H5VL_ATTR_EXISTS || args->op_type == H5VL_ATTR_ITER;
  return reads ? nullptr : obj;
};

herr_t attr_optional(void* obj, H5VL_optional_args_t* args, hid_t dxpl, void** req) noexcept {
  return H5VLattr_optional(at(obj)->under, at(obj)->under_vol_id, args, dxpl, req);
}

herr_t attr_close(void* obj, hid_t dxpl, void** req) noexcept {
  return close_object(at(obj), H5VLattr_close, dxpl, req);
}

}  // namespace

const H5VL_attr_class_t kAttributeClass = {kChangingEntry<attr_create>,
                                           kEntry<attr_open>,
                                           kEntry<attr_read>,
                                           kChangingEntry<attr_write>,
                                           kEntry<attr_get>,
                                           kChangingEntry<attr_specific, kChangedBySpecific>,
                                           kEntry<attr_optional>,
                                           kEntry<attr_close>};

}  // namespace bento::vol
