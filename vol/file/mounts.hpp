// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which files are mounted on which: a flush of global scope commits all containers among them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <hdf5.h>

#include "vol/file/file_context.hpp"
#include "vol/file/object.hpp"

namespace bento::vol {

/// A file of which an object was given to H5Fmount: its number, and the container if it is one.
struct MountPlace {
  std::optional<unsigned long> fileno;
  std::shared_ptr<FileContext> container;
};

/// H5Fmount has put the file `child` on a group, whose path begins in `above`. Task-local.
void note_mounted(const MountPlace& above, const Object* child);
/// The number of the file that H5Funmount is about to take away from `name`, seen from `where`.
std::optional<unsigned long> mounted_at(const Object* where, const H5VL_loc_params_t& loc,
                                        const char* name);
/// It has.
void note_unmounted(unsigned long child);
/// The containers that hang together with the file of `object` by mounts, above it, below it and
/// beside it; without the object's own. The order is the same on all ranks that mounted alike.
std::vector<std::shared_ptr<FileContext>> mounted_with(const Object* object);

}  // namespace bento::vol
