// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A reference of HDF5 1.12 (H5T_STD_REF) in a record. Source: docs/format.md, "References of HDF5
/// 1.12".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "hdf5/base/handle.hpp"

namespace bento::vol {

struct StoredReference {
  enum class Kind : std::uint8_t { kObject = 1, kRegion = 2, kAttribute = 3 } kind = Kind::kObject;
  std::uint64_t address = 0;  ///< of the object in the skeleton
  SpaceHandle region;         ///< kRegion: a selection; its extent means nothing
  std::string attribute;      ///< kAttribute: its name
};

/// Errors: kInternal (the selection is unreadable).
Result<std::vector<std::byte>> encode_reference(const StoredReference& reference);
/// Errors: kCorrupt.
Result<StoredReference> decode_reference(std::span<const std::byte> stored);

/// Number of dimensions of an open dataset, -1 of other objects.
int dimensions_of(hid_t object);
/// Can it be one to an object with so many dimensions? The library does not look when it follows a
/// reference to a region.
bool fits_dimensions(const StoredReference& reference, int dimensions);

/// Makes it in memory, of the object that `location` is, at whatever address that lies. Errors:
/// kInternal.
Status make_reference(hid_t location, const StoredReference& reference, H5R_ref_t& made);

}  // namespace bento::vol
