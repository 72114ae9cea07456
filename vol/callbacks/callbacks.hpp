// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The callback groups of the connector, one per kind of object, assembled in
/// vol/callbacks/connector.cpp, and the guard of those that hand a call on to the native connector.
#pragma once

#include <exception>
#include <type_traits>
#include <utility>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "hdf5/base/error_bridge.hpp"

namespace bento::vol {

/// Runs the `body` of a callback that hands its call on: what the native connector returned is
/// returned, and its records on the error stack stay as they are. Only an exception of our own adds
/// a record, and comes back as the callback's failure value. guard() is for callbacks with results
/// of their own.
template <class Body>
auto hand_on(const char* callback, Body&& body) noexcept -> std::invoke_result_t<Body> {
  try {
    return std::forward<Body>(body)();
  } catch (const std::exception& e) {
    push_error(callback, Error{Code::kInternal, e.what(), 0});
  } catch (...) {
    push_error(callback, Error{Code::kInternal, "unknown exception", 0});
  }
  return detail::failure_value<std::invoke_result_t<Body>>();
}

extern const H5VL_wrap_class_t kWrapClass;
extern const H5VL_attr_class_t kAttributeClass;
extern const H5VL_dataset_class_t kDatasetClass;
extern const H5VL_datatype_class_t kDatatypeClass;
extern const H5VL_file_class_t kFileClass;
extern const H5VL_group_class_t kGroupClass;
extern const H5VL_link_class_t kLinkClass;
extern const H5VL_object_class_t kObjectClass;
extern const H5VL_introspect_class_t kIntrospectClass;
extern const H5VL_request_class_t kRequestClass;
extern const H5VL_blob_class_t kBlobClass;
extern const H5VL_token_class_t kTokenClass;
herr_t connector_optional(void* obj, H5VL_optional_args_t* args, hid_t dxpl, void** req);

/// The class record that the plugin hands to the library.
const H5VL_class_t& connector_class();
extern const H5VL_class_value_t kConnectorValue;

}  // namespace bento::vol
