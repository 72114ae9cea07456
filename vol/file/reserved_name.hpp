// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The one name in a container that programs may not create: /.h5bento, where the native view keeps
/// its sources.
#pragma once

#include <hdf5.h>

#include "vol/file/object.hpp"

namespace bento::vol {

/// Would creating `name` at `where` make /.h5bento or something in it, in a container? Then pushes
/// an error and returns true. `name` may be null. Makes no communication.
bool refuses_reserved_name(const Object* where, const char* name) noexcept;

}  // namespace bento::vol
