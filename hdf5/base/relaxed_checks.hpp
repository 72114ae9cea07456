// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Objects that the library makes and then refuses to open.
#pragma once

#include <cstdint>

#include <hdf5.h>

#include "core/base/error.hpp"

namespace bento::vol {

/// Files that are opened with `fapl` show all their objects. From 1.14.5 on the library takes a
/// type most of whose bits are unused for damage, and makes such types itself
/// (docs/hdf5-traps.md). Sets what H5Pset_relax_file_integrity_checks() sets, by the property's
/// name, because older libraries lack the function. Errors: kInternal.
inline Status relax_integrity_checks(hid_t fapl) {
  constexpr const char* kProperty = "rfic_flags";
  constexpr std::uint64_t kAll = 1;  // H5F_RFIC_UNUSUAL_NUM_UNUSED_NUMERIC_BITS
  if (H5Pexist(fapl, kProperty) > 0 && H5Pset(fapl, kProperty, &kAll) < 0)
    return fail(Code::kInternal, "relaxed integrity checks are refused");
  return {};
}

}  // namespace bento::vol
