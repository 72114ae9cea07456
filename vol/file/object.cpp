// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/object.hpp"

#include <cstddef>
#include <memory>
#include <new>
#include <set>

#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/base/native_connector.hpp"
#include "hdf5/skeleton/linked_file.hpp"
#include "hdf5/skeleton/open_files.hpp"
#include "vol/file/dataset_state.hpp"
#include "vol/file/file_context.hpp"

namespace bento::vol {

namespace {

// Never destroyed: the library may close objects after static destructors have run.
std::set<Object*>& registry() {
  static auto* const instance = new std::set<Object*>;
  return *instance;
}

std::size_t outdated_count = 0;

bool is_registered(H5I_type_t type) {
  return type == H5I_FILE || type == H5I_GROUP || type == H5I_DATASET || type == H5I_DATATYPE;
}

/// Closes what cannot be wrapped: nobody else could.
void close_native(void* under, hid_t vol, H5I_type_t type) {
  const ErrorStackKeeper keep;
  const hid_t dxpl = H5P_DATASET_XFER_DEFAULT;
  switch (type) {
    case H5I_FILE:
      H5VLfile_close(under, vol, dxpl, nullptr);
      break;
    case H5I_GROUP:
      H5VLgroup_close(under, vol, dxpl, nullptr);
      break;
    case H5I_DATASET:
      H5VLdataset_close(under, vol, dxpl, nullptr);
      break;
    case H5I_DATATYPE:
      H5VLdatatype_close(under, vol, dxpl, nullptr);
      break;
    case H5I_ATTR:
      H5VLattr_close(under, vol, dxpl, nullptr);
      break;
    default:
      break;
  }
}

}  // namespace

const std::set<Object*>& open_objects() {
  return registry();
}

const Object* open_file_with(unsigned long fileno) {
  for (const Object* const object : open_objects())
    if (object->type == H5I_FILE && object->under != nullptr && fileno_of(object) == fileno)
      return object;
  return nullptr;
}

void mark_outdated(Object* object, bool outdated) noexcept {
  if (object->outdated == outdated) return;
  object->outdated = outdated;
  object->replaced = false;
  outdated ? ++outdated_count : --outdated_count;
}

bool any_outdated() noexcept {
  return outdated_count > 0;
}

Object* wrap_borrowed(void* under, hid_t under_vol_id, H5I_type_t type) noexcept {
  if (under == nullptr) return nullptr;
  try {
    auto object = std::make_unique<Object>();
    object->under = under;
    object->under_vol_id = under_vol_id;
    object->type = type;
    if (is_registered(type)) registry().insert(object.get());
    object->holds_connector = under_vol_id != native_connector();
    if (object->holds_connector) H5Iinc_ref(under_vol_id);
    return object.release();
  } catch (const std::bad_alloc&) {
    push_error("wrap", Error{Code::kInternal, "out of memory", 0});
    return nullptr;
  }
}

Object* wrap_new(void* under, hid_t under_vol_id, H5I_type_t type) noexcept {
  Object* const object = wrap_borrowed(under, under_vol_id, type);
  if (object == nullptr && under != nullptr) close_native(under, under_vol_id, type);
  return object;
}

void wrap_free(Object* object) noexcept {
  const bool held = object->holds_connector;
  const hid_t under_vol_id = object->under_vol_id;
  // The ids that its dataset has go with it.
  std::optional<ErrorStackKeeper> keep;
  if (object->dataset || held) keep.emplace();
  registry().erase(object);
  mark_outdated(object, false);
  delete object;
  if (held) H5Idec_ref(under_vol_id);
}

herr_t close_object(Object* object, herr_t (*close)(void*, hid_t, hid_t, void**), hid_t dxpl,
                    void** req) noexcept {
  const herr_t done =
      object->under != nullptr ? close(object->under, object->under_vol_id, dxpl, req) : 0;
  if (done < 0) {
    object->under = nullptr;
    return done;
  }
  wrap_free(object);
  return done;
}

std::optional<unsigned long> fileno_of(const Object* object) {
  if (object == nullptr || object->under == nullptr) return std::nullopt;
  if (object->fileno) return object->fileno;
  const ssize_t records = H5Eget_num(H5E_DEFAULT);
  // Calls of this kind leave the error stack alone, except that they add their records to it when
  // they fail.
  const auto none = [&]() -> std::optional<unsigned long> {
    if (const ssize_t now = H5Eget_num(H5E_DEFAULT); records >= 0 && now > records)
      H5Epop(H5E_DEFAULT, static_cast<size_t>(now - records));
    return std::nullopt;
  };
  if (object->type == H5I_FILE) {
    // Not by the object's information: of a mounted file that is the topmost one's.
    unsigned long fileno = 0;
    H5VL_file_get_args_t args{};
    args.op_type = H5VL_FILE_GET_FILENO;
    args.args.get_fileno.fileno = &fileno;
    if (H5VLfile_get(object->under, object->under_vol_id, &args, H5P_DATASET_XFER_DEFAULT,
                     nullptr) < 0)
      return none();
    object->fileno = fileno;
    return fileno;
  }
  // Not by H5VL_OBJECT_GET_FILE: that marks the native file as having an id, and a file that was
  // opened through an external link would then never be closed (docs/hdf5-traps.md).
  const auto identity = identity_of(object);
  if (!identity) return none();
  return identity->fileno;
}

std::shared_ptr<FileContext> context_of(const Object* object) {
  const auto fileno = fileno_of(object);
  return fileno ? std::static_pointer_cast<FileContext>(host_of_fileno(*fileno)) : nullptr;
}

Status refuse_linked_change(const Object* object) {
  if (object == nullptr || object->under == nullptr || !any_plain_file()) return {};
  const auto fileno = fileno_of(object);
  return fileno ? refuse_plain_change(*fileno) : Status{};
}

// The library writes what it has changed when the last object of the file is closed, which may be
// after the container.
void notice_linked_changes() {
  if (!any_plain_file()) return;
  std::set<unsigned long> done;
  for (const Object* const object : open_objects()) {
    const auto fileno = fileno_of(object);
    if (!fileno || !refuses_plain_changes(*fileno) || !done.insert(*fileno).second) continue;
    H5VL_file_specific_args_t args{};
    args.op_type = H5VL_FILE_FLUSH;
    args.args.flush.obj_type = object->type;
    args.args.flush.scope = H5F_SCOPE_LOCAL;
    const ErrorStackKeeper keep;
    (void)H5VLfile_specific(object->under, object->under_vol_id, &args, H5P_DATASET_XFER_DEFAULT,
                            nullptr);
  }
}

void note_collective(const Object* object, const char* what, const char* detail) {
  note_collective(object, what, [&] { return std::string(detail != nullptr ? detail : ""); });
}

void note_collective(const Object* object, const char* what,
                     const std::function<std::string()>& detail) {
  if (const auto context = context_of(object))
    context->note_collective(what, context->ranks() > 1 ? detail() : std::string());
  else
    (void)refuse_linked_change(object);  // the library writes such a change later, if at all
}

}  // namespace bento::vol
