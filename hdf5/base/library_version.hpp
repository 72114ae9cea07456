// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which HDF5 this is at run time. A plugin may be loaded by another version than the one whose
/// headers it was compiled with; what differs is chosen by this.
#pragma once

#include <hdf5.h>

namespace bento::vol {

/// Is it HDF5 2.0 or newer? Makes an HDF5 call, so the error stack is empty after it.
inline bool is_hdf5_2() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  return H5get_libversion(&major, &minor, &release) >= 0 && major >= 2;
}

}  // namespace bento::vol
