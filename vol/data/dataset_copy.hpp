// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// H5Ocopy: the native connector copies descriptions; the raw data of diverted datasets follows
/// here.
#pragma once

#include <hdf5.h>

#include "core/base/error.hpp"
#include "vol/file/object.hpp"

namespace bento::vol {

/// Called after a successful native copy with its arguments. Pairs the datasets of source and
/// target by path, declares the new ones and copies their data; a target in an ordinary file gets
/// the data natively. Collective where the files are: rank 0 writes, after an exchange of pending
/// records, and all ranks see the copy after another one.
Status copy_diverted_data(Object* source, const H5VL_loc_params_t& from, const char* source_name,
                          Object* target, const H5VL_loc_params_t& to, const char* target_name);

}  // namespace bento::vol
