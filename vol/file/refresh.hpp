// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How a file that is open for reading comes to its newest step while objects of it are open. The
/// native library knows objects by their address in the file, and keeps what it has read of them.
/// In another step other objects may lie there, so what it keeps must go, and an object that is
/// still open must not be taken for the one that lies in its place now.
#pragma once

#include <hdf5.h>

#include "core/base/error.hpp"
#include "vol/file/object.hpp"

namespace bento::vol {

/// What a refresh of an object begins with: its container, if open for reading, shows its newest
/// step. No-op for ordinary files. Collective over the ranks that opened the file. Errors: those of
/// Container::refresh(); kUnsupported for what HDF5 cannot refresh.
Status refresh_file(Object* object);
/// The same for callbacks that hand their call on: false with a record on the error stack.
bool refreshed_file(Object* object) noexcept;
/// The first half of it: the container of `object` shows its newest step, and the library knows
/// nothing of the step before but for what is open. True if there was a newer one. Collective and
/// errors as above.
Result<bool> go_to_newest(Object* object);

/// Before an object is opened, at `place` seen from `where` or by its name there (may be null):
/// fails if an outdated object of the same file is still open where it lies, which the library
/// would give out instead. Looks at nothing where no object is outdated. Task-local. Errors: kBusy.
Status check_not_outdated(const Object* where, const H5VL_loc_params_t& place, const char* name);
/// The same for an object of kind `type` that the connector itself has opened, or is to open.
Status check_not_outdated(const ObjectIdentity& wanted, H5I_type_t type);
/// The same for callbacks that hand their call on: false with a record on the error stack.
bool may_open(const Object* where, const H5VL_loc_params_t* place, const char* name) noexcept;

}  // namespace bento::vol
