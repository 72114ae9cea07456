// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which files of an old container are in nobody's way when a new one gets its name, but would be
/// left over.
#pragma once

#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace bento::transfer {

/// Names of physical files of the container at names[0] in an open folder, if there is one, that
/// have none of the names. Only files that say of themselves that they are its parts.
Result<std::vector<std::string>> outdated_parts(int folder, const std::vector<std::string>& names);

}  // namespace bento::transfer
