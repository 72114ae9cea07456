// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What a reference to a region (H5T_STD_REF_DSETREG) stands for. In memory it is the number of an
/// object in the global heap of some HDF5 file; that object is the region: the address of the
/// dataset, 8 bytes, and the selection as HDF5 writes it. Records hold the region itself.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "core/base/error.hpp"

namespace bento::vol {

/// Bytes of a reference to a region: heap address and number. Files with other sizes of addresses
/// (H5Pset_sizes) have other references.
inline constexpr std::size_t kRegionReferenceBytes = 12;
/// Bytes of the dataset's address at the beginning of a region.
inline constexpr std::size_t kRegionAddressBytes = 8;

inline bool is_null_region(const std::byte* reference) {
  return std::all_of(reference, reference + kRegionReferenceBytes,
                     [](std::byte one) { return one == std::byte{0}; });
}

/// The heap that references lead to. Task-local.
class RegionValues {
 public:
  virtual ~RegionValues() = default;
  /// The region of a reference that is not null. Errors: kInvalidArgument (it is not one of this
  /// heap), kCorrupt.
  virtual Result<std::vector<std::byte>> get(const std::byte* reference) = 0;
  /// Makes a reference to `region`. Errors: kInternal, kCorrupt (it is too short).
  virtual Status put(std::span<const std::byte> region, std::byte* reference) = 0;
};

}  // namespace bento::vol
