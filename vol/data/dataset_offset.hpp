// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// H5Dget_offset of a diverted dataset.
#pragma once

#include <optional>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "vol/file/dataset_state.hpp"

namespace bento::vol {

/// Where in the file that the program has opened the bytes of a contiguous dataset lie; nothing if
/// they are not all in one place of it. They stay there until the dataset is written again.
/// Task-local. Errors: those of writing out what gathers in memory, kCorrupt, kIo.
Result<std::optional<haddr_t>> dataset_offset(const Object* object, DatasetState& state);

}  // namespace bento::vol
