// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What an application may ask about a diverted dataset's storage, answered as the native library
/// would answer it: allocation, storage size, chunks.
#pragma once

#include <hdf5.h>

#include "core/base/error.hpp"
#include "vol/file/dataset_state.hpp"

namespace bento::vol {

struct Allocation {
  H5D_space_status_t status = H5D_SPACE_STATUS_NOT_ALLOCATED;
  hsize_t bytes = 0;
};

/// Space status and storage size: contiguous storage exists as a whole from the first write, chunks
/// one by one, and all of it from the beginning where the native library allocates early.
Result<Allocation> allocation_of(Object* object, DatasetState& state);

/// Native optional dataset operations. Returns false if the native connector should answer.
Result<bool> diverted_optional(Object* object, DatasetState& state, H5VL_optional_args_t* args,
                               hid_t dxpl);

}  // namespace bento::vol
