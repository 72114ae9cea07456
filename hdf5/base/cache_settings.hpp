// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What the library keeps of a file's metadata, as its access list says.
#pragma once

#include <hdf5.h>

#include "core/base/error.hpp"

namespace bento::vol {

/// Errors: kInternal.
Result<H5AC_cache_config_t> cache_settings(hid_t fapl);
/// Errors: kInternal.
Status set_cache_settings(hid_t fapl, H5AC_cache_config_t settings);

/// Files that are opened with `fapl` keep little metadata in the form in which the library works
/// with it, which takes some twenty times the room of what it is in the file. For those whose
/// metadata lies in memory anyway. Errors: kInternal.
Status keep_cache_small(hid_t fapl);

}  // namespace bento::vol
