// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/object.hpp"

#include <new>

#include "vol/dataset_state.hpp"
#include "vol/file_context.hpp"
#include "vol/h5/handle.hpp"
#include "vol/skeleton/driver.hpp"

namespace bento::vol {

Object* wrap_new(void* under, hid_t under_vol_id, H5I_type_t type) {
  if (under == nullptr) return nullptr;
  auto* const object = new (std::nothrow) Object;
  if (object == nullptr) return nullptr;
  object->under = under;
  object->under_vol_id = under_vol_id;
  object->type = type;
  H5Iinc_ref(under_vol_id);
  return object;
}

void wrap_free(Object* object) noexcept {
  const ErrorStackKeeper keep;
  const hid_t under_vol_id = object->under_vol_id;
  delete object;
  H5Idec_ref(under_vol_id);
}

hid_t native_connector() {
  // 1.14 hands out one shared id; newer versions register a new one with each look-up, so one is kept.
  static hid_t id = H5I_INVALID_HID;
  if (id < 0 || H5Iis_valid(id) <= 0) id = H5VLget_connector_id_by_name("native");
  return id;
}

std::shared_ptr<FileContext> context_of(const Object* object) {
  if (object == nullptr || object->under == nullptr) return nullptr;
  unsigned long fileno = 0;
  if (object->type == H5I_FILE) {
    H5VL_file_get_args_t args{};
    args.op_type = H5VL_FILE_GET_FILENO;
    args.args.get_fileno.fileno = &fileno;
    if (H5VLfile_get(object->under, object->under_vol_id, &args, H5P_DATASET_XFER_DEFAULT, nullptr) < 0) return nullptr;
  } else {
    // Not by H5VL_OBJECT_GET_FILE: that marks the native file as having an id, and a file that was opened
    // through an external link would then never be closed (docs/hdf5-traps.md).
    const auto identity = identity_of(object);
    if (!identity) return nullptr;
    fileno = identity->fileno;
  }
  return std::static_pointer_cast<FileContext>(host_of_fileno(fileno));
}

void note_collective(const Object* object, const char* what, const char* detail) {
  if (const auto context = context_of(object)) context->note_collective(what, detail != nullptr ? detail : "");
}

}  // namespace bento::vol
