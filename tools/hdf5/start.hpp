// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What a command that needs HDF5 does first.
#pragma once

#include "core/base/error.hpp"

namespace bento::tools {

/// Starts the HDF5 library, quietly: its error stack is not printed. What the user's environment
/// says of connectors and drivers is not followed: the commands choose for themselves. Errors:
/// kInternal.
Status start_hdf5();

}  // namespace bento::tools
