// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// H5Pset_data_transform: an expression that HDF5 applies to elements on their way, in the type
/// that they have in memory. It has no call that does this alone, so a dataset in memory does it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <hdf5.h>

#include "core/base/error.hpp"

namespace bento::vol {

/// The expression of a transfer list, empty if it has none.
std::string transform_of(hid_t dxpl);

/// Applies it to `count` elements of `type` in their place. Errors: kInvalidArgument (HDF5 refuses:
/// the type is no number, say), kInternal.
Status apply_transform(const std::string& expression, hid_t type, std::uint64_t count,
                       std::byte* elements);

}  // namespace bento::vol
