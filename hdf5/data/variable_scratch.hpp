// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Conversion between two types of variable-length elements. H5Tconvert does not serve: of values
/// in memory it copies some and shares others, so nobody could say what is to be given back. A
/// dataset of the native connector in memory does exactly what the library does natively.
#pragma once

#include <cstddef>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "hdf5/base/handle.hpp"

namespace bento::vol {

/// A dataset in memory. Task-local.
class VariableScratch {
 public:
  /// Of `count` null elements of `type`. Errors: kInternal.
  static Result<VariableScratch> make(hid_t type, std::size_t count);

  /// Writes all elements. Members that `type` lacks stay as they are. Errors: kInvalidArgument (no
  /// conversion).
  Status write(hid_t type, const void* elements);
  /// Reads all elements into `elements`, where members that only `type` has stay as they are; their
  /// values come from the memory manager of `dxpl`. Errors: kInvalidArgument (no conversion).
  Status read(hid_t type, void* elements, hid_t dxpl);

 private:
  FileHandle file_;
  DatasetHandle dataset_;
};

/// A transfer list with the memory manager and the conversion callback of `dxpl`, and nothing else
/// of it. Errors: kInternal.
Result<PlistHandle> values_list(hid_t dxpl);

}  // namespace bento::vol
