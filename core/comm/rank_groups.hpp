// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which ranks have something in common, a node or a folder: known to all of them afterwards. Each
/// group takes 12 bytes or more on every rank, and 20 in messages, so a rank that needs its own
/// only asks for that: core/comm/own_group.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "core/comm/communicator.hpp"
#include "core/comm/own_group.hpp"

namespace bento {

class RankGroups {
 public:
  /// Neighbouring ranks of one group.
  struct Run {
    std::uint32_t group = 0;
    std::uint32_t ranks = 0;
  };

  /// Ranks with equal keys form a group. Groups are numbered in the order of their lowest ranks, so
  /// rank 0 is in group 0. Collective; one message up and one down a tree, of 20 bytes for each run
  /// of neighbours that have one key. Errors: kPeer.
  static Result<RankGroups> make(Communicator& ranks, const Hash128& key);
  /// What make() gives where all ranks are known to have this key.
  static RankGroups of_one(std::uint32_t ranks, const Hash128& key);

  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(leaders_.size()); }
  [[nodiscard]] std::uint32_t group_of(std::uint32_t rank) const;
  [[nodiscard]] OwnGroup own(std::uint32_t rank) const;
  /// The group of each rank.
  [[nodiscard]] std::vector<std::uint32_t> groups() const;
  /// Equal where the ranks have the same keys in the same order.
  [[nodiscard]] const Hash128& identity() const { return identity_; }
  /// The lowest rank of a group.
  [[nodiscard]] std::uint32_t leader_of(std::uint32_t group) const { return leaders_[group]; }

 private:
  std::vector<Run> runs_;
  std::vector<std::uint32_t> leaders_;
  Hash128 identity_{};
};

}  // namespace bento
