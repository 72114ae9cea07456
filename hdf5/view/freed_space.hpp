// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Space for data that the library has freed in an HDF5 file under construction.
#pragma once

#include <hdf5.h>

#include "core/base/error.hpp"
#include "hdf5/view/view_file.hpp"

namespace bento::vol {

/// Takes all of it, until `view` is closed. The library would give a piece of it to the next block
/// of data that fits in, without asking the driver for a place. `file`: of `view`. To be called
/// before adopt_next(). Nothing of it if the library has freed nothing. Errors: kInternal.
Status take_freed_space(hid_t file, ViewFile& view);

}  // namespace bento::vol
