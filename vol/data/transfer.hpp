// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// One H5Dwrite or H5Dread of one diverted dataset: gather, convert, decompose into boxes, divert;
/// and back. When memory is one run and the types agree, bytes go between the user's buffer and the
/// file with no copy. Task-local: communication, if any, was done before.
#pragma once

#include <hdf5.h>

#include "core/base/error.hpp"
#include "vol/file/dataset_state.hpp"

namespace bento::vol {

/// The arguments of H5Dwrite and H5Dread as the library hands them to a connector.
struct TransferArgs {
  hid_t mem_type = H5I_INVALID_HID;
  hid_t mem_space = H5S_ALL;
  hid_t file_space = H5S_ALL;
  hid_t dxpl = H5P_DEFAULT;
};

/// Errors: kInvalidArgument (selections that differ in size or leave the extent, no conversion
/// between the types), and those of Container::write. Returns the bytes moved, in elements of the
/// file type.
Result<std::uint64_t> transfer_write(Object* object, DatasetState& state, const TransferArgs& args,
                                     const void* buffer);
Result<std::uint64_t> transfer_read(Object* object, DatasetState& state, const TransferArgs& args,
                                    void* buffer);

}  // namespace bento::vol
