// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// From which streams FTI may restart, as far as an index in memory can say.
#pragma once

#include <cstdint>

#include "core/base/error.hpp"
#include "core/records/index.hpp"
#include "core/stream/fti_shares.hpp"

namespace bento {

/// Of an index of what can be seen, and all writers of its container. Errors: kUnsupported (too
/// much overlaps to be looked at).
Result<FtiShares> shares_in(const Index& index, std::uint32_t writers);

}  // namespace bento
