// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// HDF5's functions and variables by name, and MPI's, for a module that links neither. Such a
/// module has a definition of its own for each of them: a function jumps to where its slot says, a
/// variable is a copy. Both are filled here from the library that loads the module, whatever that
/// is called and however it was loaded (Python loads it RTLD_LOCAL). MPI is the one that this
/// library calls: as for its own calls, what the program has comes first (profilers replace
/// functions of MPI), and then what the library depends on.
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
  void** slot;      ///< where its function jumps to, or the address of a variable of MPI; null for
                    ///< a variable of HDF5
  hid_t* variable;  ///< the copy of a variable of HDF5; null for all else
};
extern "C" const Symbol h5bento_symbols[];
extern "C" const std::size_t h5bento_symbol_count;

/// HDF5 gives its variables values while it starts: before it looks for the connector of
/// HDF5_VOL_CONNECTOR, but after it has looked for the driver of HDF5_DRIVER.
enum class Variables { kNow, kLater };

/// Binds the module to the HDF5 library that `code` is in, an address as __builtin_return_address
/// gives it. Again for each load: variables change when the library is closed and begun anew.
/// Errors, as the text why it cannot be: no such library, a static one that exports nothing, a
/// missing name, a version that is not known. HDF5 must have been started. Makes two HDF5 calls
/// (H5open, H5get_libversion).
/// `variables` says whether it is an error if the library has not given its variables values yet.
std::optional<std::string> bind(const void* code, Variables variables);

/// Copies variables that had no values when the module was bound. Errors as for bind().
std::optional<std::string> complete();

/// Does another library than the one that `code` is in use this image of the module?
bool serves_another(const void* code);

/// Has the library that `code` is in this name?
bool has(const void* code, const char* name);

/// Does a call of this name from the library that `code` is in lead anywhere? So it does for what
/// the library depends on, such as MPI.
bool reaches(const void* code, const char* name);

/// From now on the bound library uses this image, so another one needs its own (second_image.hpp).
void hold();

}  // namespace bento::binding
