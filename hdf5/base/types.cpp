// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/base/types.hpp"

#include "hdf5/base/handle.hpp"

namespace bento::vol {

namespace {

// Walks members and base types; true as soon as `test` is true of one of them.
template <class Test>
bool any_part(hid_t type, const Test& test) {
  if (test(type)) return true;
  switch (H5Tget_class(type)) {
    case H5T_COMPOUND: {
      const int members = H5Tget_nmembers(type);
      for (int i = 0; i < members; ++i) {
        const TypeHandle member(H5Tget_member_type(type, static_cast<unsigned>(i)));
        if (any_part(member.get(), test)) return true;
      }
      return false;
    }
    case H5T_ARRAY:
    case H5T_VLEN:
    case H5T_ENUM: {
      const TypeHandle base(H5Tget_super(type));
      return any_part(base.get(), test);
    }
    default:
      return false;
  }
}

}  // namespace

bool has_variable_length(hid_t type) {
  return any_part(type, [](hid_t part) {
    return H5Tget_class(part) == H5T_VLEN ||
           (H5Tget_class(part) == H5T_STRING && H5Tis_variable_str(part) > 0);
  });
}

bool has_reference(hid_t type) {
  return any_part(type, [](hid_t part) { return H5Tget_class(part) == H5T_REFERENCE; });
}

bool has_compound(hid_t type) {
  return any_part(type, [](hid_t part) { return H5Tget_class(part) == H5T_COMPOUND; });
}

}  // namespace bento::vol
