// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// One H5Dwrite or H5Dread of one virtual dataset: which elements of which sources it means, each
/// of them then a transfer of its own between the source and the program's memory. Task-local; a
/// source's file is opened by this process alone.
#pragma once

#include <hdf5.h>

#include "core/base/error.hpp"
#include "vol/data/transfer.hpp"
#include "vol/file/dataset_state.hpp"

namespace bento::vol {

/// A transfer of any dataset, as the callbacks make it for the program.
using ReadElements = Status (*)(Object* dataset, const TransferArgs& args, void* buffer);
using WriteElements = Status (*)(Object* dataset, const TransferArgs& args, const void* buffer);

/// What no mapping covers, or whose source is missing, gets the fill value. Errors:
/// kInvalidArgument (selections that differ in size or leave the extent, a virtual dataset among
/// its own sources), kUnsupported (H5S_PLIST), and those of opening and reading the sources.
Status virtual_read(Object* object, DatasetState& state, const TransferArgs& args, void* buffer,
                    ReadElements read);
/// Nothing is written if some element has no source. Errors: as above; kUnsupported (in parallel,
/// as natively).
Status virtual_write(Object* object, DatasetState& state, const TransferArgs& args,
                     const void* buffer, WriteElements write);

}  // namespace bento::vol
