// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Reads a selection that leaves out most of the box around it, as every tenth element of a plane
/// does: in pieces of bounded memory. Of each the box around it is read in one go, with one look-up
/// for all its records, or its blocks one by one where they lie far apart. Task-local.
#pragma once

#include <cstddef>

#include "core/base/error.hpp"
#include "hdf5/data/selection.hpp"
#include "vol/file/dataset_state.hpp"

namespace bento::vol {

/// Into `packed`, one element behind the other in the order of the selection, which is kRegular or
/// kRuns. Errors: those of read_box().
Status read_sparse(Object* object, DatasetState& state, const SelectionShape& shape,
                   std::byte* packed);

}  // namespace bento::vol
