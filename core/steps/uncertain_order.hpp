// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which writes of ranks on different nodes may be kept in the wrong order, because they are closer
/// together than what is known of the nodes' clocks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/steps/contribution.hpp"

namespace bento {

/// Neighbouring ranks of one node, and how wrong the times of their writes may be.
struct ClockRun {
  std::uint32_t first_rank = 0;
  std::uint32_t ranks = 0;
  std::uint32_t node = 0;
  std::uint64_t doubt_ns = 0;
};

struct UncertainOrder {
  std::uint32_t earlier = 0;  ///< rank, as the clocks say
  std::uint32_t later = 0;
  std::uint64_t apart_ns = 0;
  std::uint64_t doubt_ns = 0;  ///< of both clocks together
  Dims element;                ///< that both have written
};

struct UncertainOrders {
  std::vector<UncertainOrder> pairs;  ///< of ranks: the closest of their writes
  bool all = true;                    ///< false: there was too much to look at
};

/// Of the records of a part with exact times that overlap at the same collective count. `clocks` by
/// ascending rank. Errors: kCorrupt (also a rank without a clock).
Result<UncertainOrders> find_uncertain_order(const ContributionPart& part,
                                             std::span<const ClockRun> clocks);

}  // namespace bento
