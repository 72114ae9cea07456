// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Boxes of elements of variable length to records and back. Task-local.
/// Source: docs/format.md, "Variable-length records".
#pragma once

#include <cstddef>
#include <functional>

#include "core/base/error.hpp"
#include "vol/file/dataset_state.hpp"

namespace bento::vol {

/// Whose memory the values of elements are in.
struct ValueOwner {
  AllocateValue allocate;
  FreeValue free;
};

/// Writes elements in the file type, row-major. Errors: those of Container::write_variable.
Status write_variable_box(DatasetState& state, const Box& box, const std::byte* elements,
                          const WrittenMembers* written);

/// Reads elements in the file type, row-major, with HDF5's fill value where nobody wrote. After an
/// error they have no values. Errors: those of Container::find and Container::read_stored,
/// kCorrupt, kNoSpace.
Status read_variable_box(Object* object, DatasetState& state, const Box& box, std::byte* elements,
                         const ValueOwner& owner);

/// Copies what was written of `box`, record by record, to a dataset of a container that has the
/// same type. In another file references are null, as natively.
Status copy_variable(DatasetState& from, const Box& box, DatasetState& to);

/// Calls `write(box, elements)` for all that was written of `box`, in parts, with null for
/// references: they mean nothing elsewhere.
using WriteElements = std::function<Status(const Box& box, const std::byte* elements)>;
Status for_each_written(DatasetState& from, const Box& box, const WriteElements& write);

}  // namespace bento::vol
