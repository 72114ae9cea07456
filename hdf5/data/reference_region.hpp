// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Regions of references of HDF5 1.12, which the library takes out of them without a look at the
/// object that is there: see docs/hdf5-traps.md.
#pragma once

#include <cstddef>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "hdf5/base/handle.hpp"

namespace bento::vol {

/// Keeps a file in memory while it lives: into it the library writes a reference, and there it is
/// read how many dimensions its region has. Nothing else tells.
class ReferenceRegions {
 public:
  /// The dataspace of the reference's dataset, with the region selected. `reference` is of the type
  /// H5R_DATASET_REGION2, and its object has so many dimensions (dimensions_of(); below 0: it is
  /// no dataset, or gone). No handle if the region has another number. Errors: kInternal (no file
  /// in memory).
  Result<SpaceHandle> open(H5R_ref_t& reference, int dimensions);

 private:
  Status begin();
  Result<int> dimensions_of_region(const H5R_ref_t& reference);

  FileHandle file_;
  DatasetHandle one_;  ///< holds one reference
  std::size_t stored_bytes_ = 0;
  haddr_t at_ = HADDR_UNDEF;
};

}  // namespace bento::vol
