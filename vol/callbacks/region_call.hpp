// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which file HDF5 puts regions into, and looks for them in. H5Rcreate, H5Rdereference,
/// H5Rget_region and their like write to the global heap of the file of an object, or read from it,
/// below all callbacks. Before, they ask us for three things, one right after the other: the file
/// of the object, the sizes of that file's addresses, and the native object behind it. No other
/// call of the library does; so that last answer can be another file, whose heap is not the
/// skeleton's.
#pragma once

#include "vol/file/object.hpp"

namespace bento::vol {

class RegionCall {
 public:
  /// The callback that is under way gives an object's file (H5VL_OBJECT_GET_FILE).
  static void file_was_asked() noexcept;
  /// The one that is under way gives the sizes of `file` (H5VL_FILE_GET_CONT_INFO).
  static void sizes_were_asked(const Object* file) noexcept;
  /// Is the native object of `object` asked for by a call that makes or follows a reference to a
  /// region?
  static bool wants_file(const Object* object) noexcept;
  /// The native file for it: a private one if the container keeps regions, else its own. Null, and
  /// an error on the stack, if there is none.
  static void* file_of(const Object* file) noexcept;
};

}  // namespace bento::vol
