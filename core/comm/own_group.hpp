// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What a rank knows of the group of ranks that it has something in common with, a node for
/// instance. Who needs all groups takes RankGroups (core/comm/rank_groups.hpp), which grow with
/// their number.
#pragma once

#include <cstdint>

#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "core/comm/communicator.hpp"

namespace bento {

struct OwnGroup {
  std::uint32_t leader = 0;  ///< its lowest rank; no other group has the same
  std::uint32_t ranks = 1;   ///< how many it has
  bool several = false;      ///< there are other groups
};

/// The ranks that have the same key. Collective; one message up and down a tree, of 17 bytes and of
/// one, and if there are several groups the messages of combine_equal(), of 8 bytes each payload.
/// Errors: those of combine_equal().
Result<OwnGroup> find_own_group(Communicator& ranks, const Hash128& key);

/// How many groups there are. Collective; one message up and down a tree, of 4 bytes; none if there
/// is one group. Errors: kPeer.
Result<std::uint32_t> count_groups(Communicator& ranks, const OwnGroup& own);

}  // namespace bento
