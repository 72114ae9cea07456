// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What the description of a virtual dataset says: its mappings, and how its extent follows from
/// its sources.
#pragma once

#include <optional>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/geometry/box.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/data/unlimited_selection.hpp"
#include "vol/file/object.hpp"
#include "vol/file/source_names.hpp"

namespace bento::vol {

/// Elements of a virtual dataset that are those of a source, or of a series of sources: one for
/// each block of a selection without end.
struct VirtualMapping {
  SourceName file;
  SourceName dataset;
  SpaceHandle elements;  ///< in the virtual dataset
  SpaceHandle source;
  std::optional<UnlimitedSelection> unlimited;         ///< `elements`, if they have no end
  std::optional<UnlimitedSelection> unlimited_source;  ///< `source`, if it has none
  Box bounds;                                          ///< of `elements`, if they have an end

  [[nodiscard]] bool is_series() const { return unlimited && !unlimited_source; }
};

struct VirtualLayout {
  std::vector<VirtualMapping> mappings;
  Dims extent;  ///< as it is stored
  Dims most;    ///< the largest one, H5S_UNLIMITED included
  Dims least;   ///< what the mappings with an end need
  H5D_vds_view_t view = H5D_VDS_LAST_AVAILABLE;
  std::uint64_t gap = 0;   ///< sources of a series that may be missing before others
  bool unlimited = false;  ///< some mapping has no end
  bool disjoint = true;    ///< no element is known to be, or may be, in two mappings
};

/// Reads the dataset's creation and access lists; opens no source. Errors: kInternal,
/// kInvalidArgument (a mapping that HDF5 does not make).
Result<VirtualLayout> virtual_layout_of(const Object* dataset, hid_t dcpl, hid_t dapl);

}  // namespace bento::vol
