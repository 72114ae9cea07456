// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// HDF5's functions and variables by name, for a module that links no HDF5. Such a module has a
/// definition of its own for each of them: a function jumps to where its slot says, a variable is a
/// copy. Both are filled here from the library that loads the module, whatever that is called and
/// however it was loaded (Python loads it RTLD_LOCAL).
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <hdf5.h>

namespace bento::binding {

/// One of the names that the module uses; the table of them is made when it is built
/// (cmake/H5bentoSymbols.cmake).
struct Symbol {
  const char* name;
  void** slot;      ///< where its function jumps to; null for a variable
  hid_t* variable;  ///< the copy of a variable; null for a function
};
extern "C" const Symbol h5bento_symbols[];
extern "C" const std::size_t h5bento_symbol_count;

/// Binds the module to the HDF5 library that `code` is in, an address as __builtin_return_address
/// gives it. Again for each load: variables change when the library is closed and begun anew.
/// Errors, as the text why it cannot be: no such library, a static one that exports nothing, a
/// missing name, a version that is not known. HDF5 must have been started. Makes two HDF5 calls
/// (H5open, H5get_libversion).
std::optional<std::string> bind(const void* code);

/// Does another library than the one that `code` is in use this image of the module?
bool serves_another(const void* code);

/// Has the library that `code` is in this name?
bool has(const void* code, const char* name);

/// From now on the bound library uses this image, so another one needs its own (second_image.hpp).
void hold();

}  // namespace bento::binding
