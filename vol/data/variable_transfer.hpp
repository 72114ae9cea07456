// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Elements of variable length between the program's buffer and records. Task-local.
/// Source: docs/format.md, "Variable-length records".
#pragma once

#include <cstdint>

#include "core/base/error.hpp"
#include "hdf5/data/selection.hpp"
#include "vol/data/elements_in_memory.hpp"
#include "vol/data/transfer.hpp"
#include "vol/file/dataset_state.hpp"

namespace bento::vol {

/// Both sides of a transfer, which have the same number of elements.
struct VariableTransfer {
  Object* object = nullptr;
  DatasetState& state;  ///< `variable`
  const TransferArgs& args;
  const SelectionShape& shape;     ///< of the file side
  const ElementsInMemory& memory;  ///< of the program's side
  hid_t mem_space;                 ///< what `memory` was made of, if of a selection
};

/// Errors: those of transfer_write() and transfer_read(); kNoSpace for an element that fits no
/// chunk of the container.
Status write_variable(const VariableTransfer& transfer, const void* buffer);
/// Values come from the memory manager of the transfer list. After an error none is left in the
/// elements that were not given out.
Status read_variable(const VariableTransfer& transfer, void* buffer);

/// What H5Dvlen_get_buf_size answers: the bytes of all values that a read of `space` would ask
/// memory for, in `type`.
Result<std::uint64_t> variable_buffer_bytes(Object* object, DatasetState& state, hid_t type,
                                            hid_t space);

}  // namespace bento::vol
