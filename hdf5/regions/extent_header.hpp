// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// An HDF5 object header with a dataspace and nothing else. Source: HDF5 File Format Specification,
/// IV.A.1 (version 1) and IV.A.2.b.
#pragma once

#include <cstddef>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"

namespace bento::vol {

/// No longer than what the library reads of a header at once. Errors: kInternal (the space is
/// unreadable), kUnsupported (more than 30 dimensions with limits).
Result<std::vector<std::byte>> extent_header(hid_t space);

}  // namespace bento::vol
