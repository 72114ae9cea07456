// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The creation list of a virtual dataset. The library stores its mappings by the regular form of
/// their selections, and what that does not have is lost (hdf5/data/meant_selection.hpp).
#pragma once

#include <hdf5.h>

#include "core/base/error.hpp"
#include "hdf5/base/handle.hpp"

namespace bento::vol {

/// A copy of `dcpl` whose mappings have the elements that the program has selected; none if `dcpl`
/// has these, or is not the list of a virtual dataset.
Result<PlistHandle> list_of_meant_mappings(hid_t dcpl);

}  // namespace bento::vol
