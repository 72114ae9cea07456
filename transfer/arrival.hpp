// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What is looked at before a copy gets its name: the checksums of the container, and which files
/// of the old one are in nobody's way but would be left over.
#pragma once

#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "transfer/gate.hpp"

namespace bento::transfer {

/// Reads all data once and holds them against their checksums, at the pace of the gate; sets
/// `stopped` and fails if that says stop. Errors: kCorrupt (names the first damage), kUnsupported,
/// kIo.
Status verify_container(const std::string& path, Gate& gate, bool& stopped);

/// Names of physical files of the container at names[0] in an open folder, if there is one, that
/// have none of the names. Only files that say of themselves that they are its parts.
Result<std::vector<std::string>> outdated_parts(int folder, const std::vector<std::string>& names);

}  // namespace bento::transfer
