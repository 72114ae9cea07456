// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/base/holds_references.hpp"

#include <fmt/format.h>

#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/base/types.hpp"

namespace bento::vol {

namespace {

constexpr herr_t kFound = 1;  ///< ends a visit

herr_t look_at_attribute(hid_t object, const char* name, const H5A_info_t*, void* found) {
  try {
    const AttributeHandle attribute(H5Aopen(object, name, H5P_DEFAULT));
    const TypeHandle type(H5Aget_type(attribute.get()));
    if (!type.valid()) return -1;
    if (!has_reference(type.get())) return 0;
    *static_cast<std::string*>(found) = fmt::format("its attribute '{}'", name);
    return kFound;
  } catch (...) {
    return -1;
  }
}

herr_t look_at_object(hid_t root, const char* name, const H5O_info2_t* info, void* found) {
  const ObjectHandle object(H5Oopen(root, name, H5P_DEFAULT));
  if (!object.valid()) return -1;
  if (info->type == H5O_TYPE_DATASET) {
    const TypeHandle type(H5Dget_type(object.get()));
    if (has_reference(type.get())) {
      static_cast<std::string*>(found)->assign("its elements");
      return kFound;
    }
  }
  return H5Aiterate2(object.get(), H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, look_at_attribute,
                     found);
}

}  // namespace

Result<std::optional<std::string>> holds_references(hid_t object) {
  std::string found;
  const herr_t done =
      H5Ovisit3(object, H5_INDEX_NAME, H5_ITER_NATIVE, look_at_object, &found, H5O_INFO_BASIC);
  if (done < 0) return fail(Code::kInternal, innermost_error());
  return done == kFound ? std::optional(std::move(found)) : std::nullopt;
}

}  // namespace bento::vol
