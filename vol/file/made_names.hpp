// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Under which names HDF5 itself creates a file: the drivers family, split and multi make others
/// than the one they are given.
#pragma once

#include <string>
#include <vector>

#include <hdf5.h>

namespace bento::vol {

/// What a create of `name` with this access list makes or empties: of a family the first member
/// and those that are there, of split and multi one name for each kind of data, else `name`.
std::vector<std::string> made_names(const char* name, hid_t fapl);

}  // namespace bento::vol
