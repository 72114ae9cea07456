// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The library's services to itself: wrapping, introspection, requests, blobs, tokens.
#include "hdf5/base/handle.hpp"
#include "vol/callbacks/callbacks.hpp"
#include "vol/callbacks/region_call.hpp"
#include "vol/file/object.hpp"

namespace bento::vol {

namespace {

Object* at(void* obj) {
  return static_cast<Object*>(obj);
}
const Object* at(const void* obj) {
  return static_cast<const Object*>(obj);
}

// --- wrapping
// ---------------------------------------------------------------------------------------------

struct WrapContext {
  hid_t under_vol_id;
  void* under_context;
};

// The library casts the answer to its own structures, so it must be the native object itself, or
// another one of the same kind.
void* get_object(const void* obj) {
  if (RegionCall::wants_file(at(obj))) return RegionCall::file_of(at(obj));
  if (!at(obj)->holds_connector) return at(obj)->under;  // that of the native connector
  return H5VLget_object(at(obj)->under, at(obj)->under_vol_id);
}

// The library asks for a context at every call. The native connector has none of its own, and its
// id stays: so all objects above it share this one.
WrapContext above_native{};

herr_t get_wrap_ctx(const void* obj, void** context) {
  if (!at(obj)->holds_connector) {
    above_native.under_vol_id = at(obj)->under_vol_id;
    *context = &above_native;
    return 0;
  }
  auto* const made = new (std::nothrow) WrapContext{at(obj)->under_vol_id, nullptr};
  if (made == nullptr) return -1;
  H5Iinc_ref(made->under_vol_id);
  if (at(obj)->under != nullptr)
    H5VLget_wrap_ctx(at(obj)->under, made->under_vol_id, &made->under_context);
  *context = made;
  return 0;
}

void* wrap_object(void* obj, H5I_type_t type, void* context) {
  const auto* const made = static_cast<const WrapContext*>(context);
  // The library closes what it cannot get wrapped.
  return wrap_borrowed(H5VLwrap_object(obj, type, made->under_vol_id, made->under_context),
                       made->under_vol_id, type);
}

void* unwrap_object(void* obj) {
  void* const under = H5VLunwrap_object(at(obj)->under, at(obj)->under_vol_id);
  if (under != nullptr) wrap_free(at(obj));
  return under;
}

herr_t free_wrap_ctx(void* context) {
  auto* const made = static_cast<WrapContext*>(context);
  if (made == &above_native) return 0;
  const ErrorStackKeeper keep;
  if (made->under_context != nullptr) H5VLfree_wrap_ctx(made->under_context, made->under_vol_id);
  H5Idec_ref(made->under_vol_id);
  delete made;
  return 0;
}

// --- introspection
// ----------------------------------------------------------------------------------------

// Terminal class: native. Deprecated calls, h5py and the tools work only on objects that say so.
herr_t get_conn_cls(void* obj, H5VL_get_conn_lvl_t level, const H5VL_class_t** cls) {
  if (level == H5VL_GET_CONN_LVL_CURR) {
    *cls = &connector_class();
    return 0;
  }
  return H5VLintrospect_get_conn_cls(at(obj)->under, at(obj)->under_vol_id, level, cls);
}

herr_t get_cap_flags(const void*, uint64_t* flags) {
  *flags = connector_class().cap_flags;
  return 0;
}

herr_t opt_query(void* obj, H5VL_subclass_t cls, int op, uint64_t* flags) {
  return H5VLintrospect_opt_query(at(obj)->under, at(obj)->under_vol_id, cls, op, flags);
}

// --- requests: everything is synchronous, so none is ever handed out
// --------------------------------------

herr_t request_wait(void*, uint64_t, H5VL_request_status_t* status) {
  *status = H5VL_REQUEST_STATUS_SUCCEED;
  return 0;
}
herr_t request_notify(void*, H5VL_request_notify_t, void*) {
  return -1;
}
herr_t request_cancel(void*, H5VL_request_status_t* status) {
  *status = H5VL_REQUEST_STATUS_CANT_CANCEL;
  return 0;
}
herr_t request_specific(void*, H5VL_request_specific_args_t*) {
  return -1;
}
herr_t request_optional(void*, H5VL_optional_args_t*) {
  return -1;
}
herr_t request_free(void*) {
  return 0;
}

// --- blobs: variable-length values of the skeleton
// --------------------------------------------------------

herr_t blob_put(void* obj, const void* buffer, size_t size, void* id, void* context) {
  return H5VLblob_put(at(obj)->under, at(obj)->under_vol_id, buffer, size, id, context);
}
herr_t blob_get(void* obj, const void* id, void* buffer, size_t size, void* context) {
  return H5VLblob_get(at(obj)->under, at(obj)->under_vol_id, id, buffer, size, context);
}
herr_t blob_specific(void* obj, void* id, H5VL_blob_specific_args_t* args) {
  return H5VLblob_specific(at(obj)->under, at(obj)->under_vol_id, id, args);
}
herr_t blob_optional(void* obj, void* id, H5VL_optional_args_t* args) {
  return H5VLblob_optional(at(obj)->under, at(obj)->under_vol_id, id, args);
}

// --- tokens: the skeleton's
// -------------------------------------------------------------------------------

herr_t token_cmp(void* obj, const H5O_token_t* a, const H5O_token_t* b, int* result) {
  return H5VLtoken_cmp(at(obj)->under, at(obj)->under_vol_id, a, b, result);
}
herr_t token_to_str(void* obj, H5I_type_t type, const H5O_token_t* token, char** text) {
  return H5VLtoken_to_str(at(obj)->under, type, at(obj)->under_vol_id, token, text);
}
herr_t token_from_str(void* obj, H5I_type_t type, const char* text, H5O_token_t* token) {
  return H5VLtoken_from_str(at(obj)->under, type, at(obj)->under_vol_id, text, token);
}

}  // namespace

herr_t connector_optional(void* obj, H5VL_optional_args_t* args, hid_t dxpl, void** req) {
  return H5VLoptional(at(obj)->under, at(obj)->under_vol_id, args, dxpl, req);
}

const H5VL_wrap_class_t kWrapClass = {get_object, get_wrap_ctx, wrap_object, unwrap_object,
                                      free_wrap_ctx};
const H5VL_introspect_class_t kIntrospectClass = {get_conn_cls, get_cap_flags, opt_query};
const H5VL_request_class_t kRequestClass = {request_wait,     request_notify,   request_cancel,
                                            request_specific, request_optional, request_free};
const H5VL_blob_class_t kBlobClass = {blob_put, blob_get, blob_specific, blob_optional};
const H5VL_token_class_t kTokenClass = {token_cmp, token_to_str, token_from_str};

}  // namespace bento::vol
