// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What the native library keeps of a file's metadata, and when it gives that up.
#pragma once

#include <hdf5.h>

#include "core/base/error.hpp"
#include "vol/file/file_context.hpp"
#include "vol/file/object.hpp"

namespace bento::vol {

/// The native file below some open file id. Null if there is none: the program has closed it, or
/// the file was opened through an external link.
Object* open_file_of(const FileContext& file);

/// What a file that ranks write together needs: its cache evicts nothing by itself.
H5AC_cache_config_t without_eviction(H5AC_cache_config_t config);
/// The same for the files that are opened with `fapl`. Errors: kInternal.
Status forbid_eviction(hid_t fapl);

/// What H5Fset_mdc_config does. Errors: kInternal.
Status set_cache(Object* file, const H5AC_cache_config_t& config);

/// After a flush of a file whose cache evicts nothing by itself: gives up everything that it can.
/// All ranks do it at the same place among their collective calls. Task-local, without
/// communication. Errors: kInternal.
Status evict_flushed(Object* file);

/// Gives up everything that `file`'s cache holds, but for what an inquiry for the object at
/// `place`, seen from `where`, needs. Task-local. Errors: kInternal.
Status forget_metadata(Object* file, const Object* where, const H5VL_loc_params_t& place);

}  // namespace bento::vol
