// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The elements of one box of a diverted dataset, row-major in the file type, to records and back:
/// plain ones to the container, those with filters by way of them. Task-local.
#pragma once

#include <cstddef>

#include "core/base/error.hpp"
#include "vol/file/dataset_state.hpp"

namespace bento::vol {

/// `written` as for Container::write. Errors: those of Container::write, and kInvalidArgument for a
/// filter that fails or is not available.
Status write_box(Object* object, DatasetState& state, const Box& box, const std::byte* data,
                 const WrittenMembers* written);
/// Can the elements of `box` be written while they are made? Not if they go through filters, or
/// are to be compared.
Result<bool> writes_in_strips(Object* object, DatasetState& state, const Box& box);
/// Writes them. Errors: those of write_box(), and of `data`.
Status write_box(Object* object, DatasetState& state, const Box& box, ByteSource& data,
                 const WrittenMembers* written);
/// HDF5's fill value where nobody wrote. Errors: those of Container::find and Container::read, and
/// kCorrupt for bytes that do not pass the filters.
Status read_box(Object* object, DatasetState& state, const Box& box, std::byte* to);

}  // namespace bento::vol
