// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which HDF5 this is at run time. A plugin may be loaded by another version than the one whose
/// headers it was compiled with; what differs is chosen by this.
#pragma once

#include <hdf5.h>

#include "hdf5/base/handle.hpp"
#include "hdf5/base/quiet_errors.hpp"

namespace bento::vol {

/// Is it HDF5 2.0 or newer? Makes an HDF5 call, so the error stack is empty after it.
inline bool is_hdf5_2() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  return H5get_libversion(&major, &minor, &release) >= 0 && major >= 2;
}

/// The newest file format that the library knows, which H5F_LIBVER_LATEST of older headers is not:
/// what is stored in a newer one cannot be copied into a file that is bounded by an older one.
/// Makes HDF5 calls that fail, so what is on the error stack after it means nothing.
inline H5F_libver_t newest_format() {
  const QuietErrors quiet;
  const PlistHandle list(H5Pcreate(H5P_FILE_ACCESS));
  constexpr int kMost = 7;  // what the type can hold
  int newest = H5F_LIBVER_LATEST;
  while (newest < kMost && H5Pset_libver_bounds(list.get(), H5F_LIBVER_V18,
                                                static_cast<H5F_libver_t>(newest + 1)) >= 0)
    ++newest;
  return static_cast<H5F_libver_t>(newest);
}

}  // namespace bento::vol
