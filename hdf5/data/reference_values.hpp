// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What a reference of HDF5 1.12 (H5T_STD_REF) stands for. In memory it is a structure that only
/// the library understands (H5R_ref_t), and that holds on to what it leads to. Records hold what
/// StoredReference (hdf5/data/stored_reference.hpp) makes of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include <hdf5.h>

#include "core/base/error.hpp"

namespace bento::vol {

/// In memory.
inline constexpr std::size_t kReferenceBytes = sizeof(H5R_ref_t);

inline bool is_null_reference(const std::byte* reference) {
  return std::all_of(reference, reference + kReferenceBytes,
                     [](std::byte one) { return one == std::byte{0}; });
}

/// Between the place of a reference in memory and its bytes in a record. What is in that place is
/// up to the implementation; all zeros are a null reference, for which nothing is called.
/// Task-local.
class ReferenceValues {
 public:
  virtual ~ReferenceValues() = default;
  /// The bytes live until the next call.
  virtual Result<std::span<const std::byte>> get(const std::byte* reference) = 0;
  virtual Status put(std::span<const std::byte> stored, std::byte* reference) = 0;
};

}  // namespace bento::vol
