// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/base/types.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "hdf5/base/handle.hpp"

namespace bento::vol {

namespace {

// Walks members and base types; true as soon as `test` is true of one of them.
template <class Test>
bool any_part(hid_t type, const Test& test) {
  if (is_predefined_number(type)) return false;  // none of what is looked for here
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

bool has_region_reference(hid_t type) {
  return any_part(type, [](hid_t part) {
    return H5Tget_class(part) == H5T_REFERENCE && H5Tequal(part, H5T_STD_REF_DSETREG) > 0;
  });
}

bool is_new_reference(hid_t type) {
  return type >= 0 && H5Tget_class(type) == H5T_REFERENCE && H5Tequal(type, H5T_STD_REF_OBJ) <= 0 &&
         H5Tequal(type, H5T_STD_REF_DSETREG) <= 0;
}

bool has_new_reference(hid_t type) {
  return any_part(type, is_new_reference);
}

bool has_compound(hid_t type) {
  return any_part(type, [](hid_t part) { return H5Tget_class(part) == H5T_COMPOUND; });
}

std::array<hid_t, kPredefinedNumbers> predefined_numbers() {
  // The names without _g would each ask the library whether it has begun.
  return {H5T_NATIVE_DOUBLE_g, H5T_NATIVE_FLOAT_g,  H5T_NATIVE_INT_g,   H5T_NATIVE_UINT_g,
          H5T_NATIVE_LONG_g,   H5T_NATIVE_ULONG_g,  H5T_NATIVE_LLONG_g, H5T_NATIVE_ULLONG_g,
          H5T_NATIVE_SHORT_g,  H5T_NATIVE_USHORT_g, H5T_NATIVE_SCHAR_g, H5T_NATIVE_UCHAR_g,
          H5T_NATIVE_INT64_g,  H5T_NATIVE_UINT64_g, H5T_NATIVE_INT32_g, H5T_NATIVE_UINT32_g,
          H5T_IEEE_F64LE_g,    H5T_IEEE_F32LE_g,    H5T_STD_I64LE_g,    H5T_STD_I32LE_g,
          H5T_STD_U64LE_g,     H5T_STD_U32LE_g,     H5T_STD_I16LE_g,    H5T_STD_U16LE_g,
          H5T_STD_I8LE_g,      H5T_STD_U8LE_g};
}

int predefined_number(hid_t type) {
  const auto numbers = predefined_numbers();
  const auto* const found = std::ranges::find(numbers, type);
  return found == numbers.end() ? -1 : static_cast<int>(found - numbers.begin());
}

}  // namespace bento::vol
