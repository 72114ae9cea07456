// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A group to which several hard links lead may come to hold itself. Then it stays in the file with
/// all that is in it when no path leads to it any more: object references still reach it. So in a
/// file with such a group, what no path leads to is not taken for deleted.
#pragma once

#include <hdf5.h>

#include "vol/file/object.hpp"

namespace bento::vol {

/// If `place`, seen from `object`, is a group with at least `links` hard links, its container keeps
/// what no path leads to from now on. Leaves the error stack alone. Collective without
/// communication.
void note_shared_group(const Object* object, const H5VL_loc_params_t& place, unsigned links);

}  // namespace bento::vol
