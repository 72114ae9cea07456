// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Names of files that lead to one place.
#pragma once

#include <string>

namespace bento::transfer {

/// The same for all names that a file has by way of names of its folder: symbolic links, `.`, `..`,
/// doubled slashes. A symbolic link in the place of the file itself is a name of its own. The
/// folder need not exist. `name` is absolute, or empty, which stays empty.
std::string one_name(const std::string& name);

}  // namespace bento::transfer
