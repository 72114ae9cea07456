// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What a command that needs HDF5 does first.
#pragma once

#include <functional>
#include <string>

#include "core/base/error.hpp"

namespace bento::tools {

bool may_write(const std::string& path);

/// Called before HDF5 is used, where it is not linked with the program (tools/module); empty
/// otherwise.
using HowToReach = std::function<Status()>;
HowToReach& how_to_reach_hdf5();

/// Starts the HDF5 library, quietly: its error stack is not printed. What the user's environment
/// says of connectors, drivers and our keys (H5BENTO_*) is not followed: the commands choose for
/// themselves. Errors: kInternal; what
/// how_to_reach_hdf5() says.
Status start_hdf5();

/// For the exit status: a file that this user may write to, and that is not written to all the same
/// because another program changed it, is a refusal and not a file that cannot be read.
template <class T>
Result<T> or_refusal(Result<T> result, const std::string& path) {
  if (!result && result.error().code == Code::kPermission && may_write(path))
    result.error().os_errno = 0;
  return result;
}

}  // namespace bento::tools
