// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Native optional file operations on a container: those whose native answer would describe the
/// skeleton instead of the container.
#pragma once

#include <hdf5.h>

#include "core/base/error.hpp"
#include "vol/file/object.hpp"

namespace bento::vol {

Status file_optional_body(Object* object, H5VL_optional_args_t* args, hid_t dxpl, void** req);

}  // namespace bento::vol
