// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which filter of a dataset does this HDF5 library not have? It says no more than that a filter
/// failed.
#pragma once

#include <cstdint>
#include <string>

#include <hdf5.h>

namespace bento::vol {

/// The first filter of a creation list, but for those whose bit of `skipped` is set, that is
/// neither in the library nor found as a plugin: "filter 32000 (lzf)". Empty if there is none.
std::string missing_filter(hid_t dcpl, std::uint32_t skipped = 0);

}  // namespace bento::vol
