// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How much the transfer file says is done of a container that becomes something else on its way.
#pragma once

#include <cstdint>
#include <vector>

#include "transfer/transfer_file.hpp"

namespace bento::transfer {

/// `bytes` of the entry: all of it is reported only when it has its name.
std::uint64_t not_all(const Entry& entry, std::uint64_t bytes);

/// `done` of `total`, in MADE of all sources together, in the order in which a copy would fill
/// them.
void share_out(std::vector<Entry>& entries, std::uint64_t done, std::uint64_t total);

}  // namespace bento::transfer
