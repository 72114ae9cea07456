// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Selections as bytes that depend neither on the extent nor on the version of the library, whose
/// own (H5Sencode) are read without a look at how many there are. Source: docs/format.md,
/// "References of HDF5 1.12".
#pragma once

#include <cstddef>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/bytes/byte_reader.hpp"
#include "hdf5/base/handle.hpp"

namespace bento::vol {

/// Appends the selection of `space`. Errors: kInternal (it is unreadable).
Status put_selection(hid_t space, std::vector<std::byte>& out);

/// A space without extent, but with the number of dimensions and the selection. Errors: kCorrupt.
Result<SpaceHandle> take_selection(ByteReader& in);

}  // namespace bento::vol
