// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What the steady clocks of ranks on different nodes have to do with each other.
#pragma once

#include <cstdint>
#include <functional>

#include "core/base/error.hpp"
#include "core/comm/communicator.hpp"
#include "core/comm/own_group.hpp"

namespace bento {

struct ClockOffset {
  std::int64_t offset_ns = 0;  ///< what to add to this rank's steady clock for rank 0's time
  std::uint64_t error_ns = 0;  ///< at most, as of now. 0 on rank 0's node
};

/// Rank 0 has `base_ns` itself, which the others need not know. `node`: ranks of one group have one
/// clock, and so get one offset, that of the lowest. `steady_ns` is this rank's clock. Collective;
/// five rounds of empty messages up and down a tree, and those of combine_equal() for the offsets.
/// Errors: those of combine_equal().
Result<ClockOffset> measure_clock(Communicator& ranks, const OwnGroup& node, std::int64_t base_ns,
                                  const std::function<std::int64_t()>& steady_ns);

}  // namespace bento
