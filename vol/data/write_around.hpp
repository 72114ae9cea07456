// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Selections of many small boxes, written as the box around them. Task-local.
#pragma once

#include <cstddef>

#include "core/base/error.hpp"
#include "hdf5/data/selection.hpp"
#include "vol/file/dataset_state.hpp"

namespace bento::vol {

/// Reads the box around the selection, puts the elements of `packed` into it, in the order of the
/// selection, and writes all of it, if that is less than the boxes cost one by one, and no other
/// rank is known to write between them. False: it was not, or not all of it. `written` as for
/// Container::write. Errors: those of Container::write.
Result<bool> write_around(Object* object, DatasetState& state, const SelectionShape& shape,
                          const std::byte* packed, const WrittenMembers* written);

}  // namespace bento::vol
