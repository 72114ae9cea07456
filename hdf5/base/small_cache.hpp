// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A metadata cache that stays small, for HDF5 files whose metadata lies in memory anyway.
#pragma once

#include <hdf5.h>

#include "core/base/error.hpp"

namespace bento::vol {

/// Files that are opened with `fapl` keep little metadata in the form in which the library works
/// with it, which takes ten times the room of what it is in the file. Errors: kInternal.
Status keep_cache_small(hid_t fapl);

}  // namespace bento::vol
