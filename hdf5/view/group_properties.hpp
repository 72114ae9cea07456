// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A group's creation list, fit for creating another group: the list that the library gives for a
/// group with many links also carries the addresses of its heap and its index (docs/hdf5-traps.md).
#pragma once

#include <hdf5.h>

#include "core/base/error.hpp"

namespace bento::vol {

/// Of the objects that are made: the library notes when each was made, if the old one's list wants
/// that, or it notes nothing, so that the same objects are the same bytes whenever they are made.
enum class ObjectTimes { kAsWanted, kNone };

/// Copies what users can set from the open group `from` to `list`, a group or file creation list.
/// Errors: kInternal.
Status copy_group_properties(hid_t from, hid_t list, ObjectTimes wanted = ObjectTimes::kAsWanted);

}  // namespace bento::vol
