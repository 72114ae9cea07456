// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Questions about datatypes that decide how a dataset is stored.
#pragma once

#include <array>
#include <cstddef>

#include <hdf5.h>

namespace bento::vol {

/// Does the type, at any depth, contain variable-length data (sequences or strings)?
bool has_variable_length(hid_t type);
/// Does it contain references of any kind?
bool has_reference(hid_t type);
/// Does it contain references to regions of the old type, H5T_STD_REF_DSETREG?
bool has_region_reference(hid_t type);
/// Does it contain references of HDF5 1.12, H5T_STD_REF?
bool has_new_reference(hid_t type);
/// Is it one? False for an invalid id.
bool is_new_reference(hid_t type);
/// Does it contain a compound type? Then a conversion may leave members of the destination as they
/// are.
bool has_compound(hid_t type);
/// The library's own integers and floats, which nobody can change; several may be equal.
inline constexpr std::size_t kPredefinedNumbers = 26;
std::array<hid_t, kPredefinedNumbers> predefined_numbers();
/// Which of these it is; the same as long as the process lives. Negative for other types, copies of
/// these among them.
int predefined_number(hid_t type);
inline bool is_predefined_number(hid_t type) {
  return predefined_number(type) >= 0;
}

}  // namespace bento::vol
