// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Elements of a virtual mapping whose source is a union of hyperslabs: onto such a union the
/// library projects nothing rightly (docs/hdf5-traps.md). So it is taken box by box.
#pragma once

#include <functional>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "hdf5/base/handle.hpp"

namespace bento::vol {

struct MappedSelections {
  hid_t wanted;    ///< in the virtual dataset
  hid_t memory;    ///< as many elements; not irregular
  hid_t elements;  ///< of the mapping, in the virtual dataset
  hid_t there;     ///< the same in the source; irregular
};

/// Calls `visit` with regular selections of as many elements each, which together are those of
/// `wanted` that the mapping has. Errors: kInternal (the library's answers do not fit together),
/// those of `visit`.
using RegularPartVisitor = std::function<Status(SpaceHandle memory, SpaceHandle source)>;
Status for_each_regular_part(const MappedSelections& selections, const RegularPartVisitor& visit);

}  // namespace bento::vol
