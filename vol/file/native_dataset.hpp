// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What the native connector's dataset below one of ours says of itself, as new ids. Task-local.
#pragma once

#include "core/base/error.hpp"
#include "hdf5/base/handle.hpp"

namespace bento::vol {

struct Object;

/// Its creation list. Errors of all of these: kInternal.
Result<PlistHandle> native_dcpl(const Object* dataset);
/// Its access list.
Result<PlistHandle> native_dapl(const Object* dataset);
Result<SpaceHandle> native_space(const Object* dataset);
/// A committed type comes as an open object.
Result<TypeHandle> native_type(const Object* dataset);

}  // namespace bento::vol
