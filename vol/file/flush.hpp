// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// H5Fflush, the flush that a program with `commit=SECONDS` does not have to call, and the one that
/// bounds the library's metadata cache.
#pragma once

#include <hdf5.h>

#include "core/base/error.hpp"
#include "vol/file/object.hpp"

namespace bento::vol {

/// What H5Fflush does: the library writes what it has kept of the file of `object` (with a global
/// scope also of the files that are mounted with it), and each container among them that is open
/// for writing commits. Collective. Errors: as Container::commit(), and those of the library.
Status flush(Object* object, H5F_scope_t scope);

/// Flushes the container of `object` if it is open with `commit=SECONDS`, and its last commit, or
/// the last try, was so long ago. Keeps the error stack unless it fails. Errors: as flush().
Status flush_if_due(Object* object);

/// If so much of the container of `object` was changed that the library's cache has become large:
/// lets the library write it to the skeleton, and give it up. For the beginning of a call. All
/// ranks do it between the same two collective calls, without communication. Keeps the error stack
/// unless it fails. Errors: kInternal.
Status shrink_cache_if_due(Object* object);

}  // namespace bento::vol
