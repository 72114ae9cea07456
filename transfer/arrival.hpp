// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What is looked at before a copy gets its name: the checksums of the container.
#pragma once

#include <string>

#include "core/base/error.hpp"
#include "transfer/gate.hpp"

namespace bento::transfer {

/// Reads all data once and holds them against their checksums, at the pace of the gate; sets
/// `stopped` and fails if that says stop. Errors: kCorrupt (names the first damage), kUnsupported,
/// kIo.
Status verify_container(const std::string& path, Gate& gate, bool& stopped);

}  // namespace bento::transfer
