// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What verify and repair say of a container that was read as a whole.
#pragma once

#include <string>

#include "core/offline/verify_container.hpp"
#include "tools/output.hpp"

namespace bento::tools {

/// Prints what was found and what could not be judged, each in lines of its own, and sets
/// "damage_count", "damage", "older_verified" and "unhashed".
void print_findings(Output& out, Json& json, const std::string& path,
                    const ContainerVerdict& verdict);

}  // namespace bento::tools
