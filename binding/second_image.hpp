// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// One image of a module is bound to one HDF5 library. A process may have two, such as those in the
/// wheels of h5py and netCDF4: the second one gets another image of the same file, with variables
/// of its own.
#pragma once

#include <string>

namespace bento::binding {

/// Loads another image of the module that this function is in, from a copy of its file in memory;
/// the loader would take the file itself for the one that it has. It stays until the process ends.
/// Returns its handle, or null and `why`.
void* load_second_image(std::string& why);

}  // namespace bento::binding
