// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which containers are mounted on which files: a flush of global scope commits them, too.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <hdf5.h>

#include "vol/file/file_context.hpp"
#include "vol/file/object.hpp"

namespace bento::vol {

/// H5Fmount has put the file `child` on a group of the file with the number `above`. Task-local.
void note_mounted(std::optional<unsigned long> above, const Object* child);
/// Before H5Funmount takes away what lies at `name`, seen from `where`.
void note_unmounted(const Object* where, const H5VL_loc_params_t& loc, const char* name);
/// The containers that are mounted on the file of `object`, and on those, in the order of mounting.
std::vector<std::shared_ptr<FileContext>> mounted_below(const Object* object);

}  // namespace bento::vol
