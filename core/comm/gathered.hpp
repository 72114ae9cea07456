// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How what each rank brings to a gather travels up a tree: side by side, each with its rank.
#pragma once

#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/comm/communicator.hpp"

namespace bento {

/// Of one rank.
Bytes pack_payload(int rank, std::span<const std::byte> payload);
/// Communicator::Merge.
Bytes join_payloads(std::span<const std::byte> lower, std::span<const std::byte> higher);
/// In rank order. Errors: kCorrupt.
Result<std::vector<Bytes>> unpack_payloads(std::span<const std::byte> joined, int ranks);

}  // namespace bento
