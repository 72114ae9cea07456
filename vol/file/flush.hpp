// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// H5Fflush, and the flush that a program with `commit=SECONDS` does not have to call.
#pragma once

#include <hdf5.h>

#include "core/base/error.hpp"
#include "vol/file/object.hpp"

namespace bento::vol {

/// What H5Fflush does: the library writes what it has kept of the file of `object` (with a global
/// scope also of the files that are mounted with it), and each container among them that is open
/// for writing commits. Collective. Errors: as Container::commit(), and those of the library.
Status flush(Object* object, H5F_scope_t scope);

/// What H5Dflush, H5Oflush and the like begin with: sources of virtual datasets are closed, and so
/// committed. HDF5 refuses these calls of a file that was opened with mpio, in which an object
/// cannot be flushed by itself. Errors: kUnsupported, in HDF5's words; those of commits.
Status begin_object_flush(const Object* object);
/// The same for callbacks that do not throw: false, with the error pushed.
bool flushes_objects(const Object* object) noexcept;

/// Flushes the container of `object` if it is open with `commit=SECONDS`, and its last commit, or
/// the last try, was so long ago. Keeps the error stack unless it fails. Errors: as flush().
Status flush_if_due(Object* object);

}  // namespace bento::vol
