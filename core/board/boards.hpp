// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The boards of the ranks that have a container open for writing: this rank's own, and what the
/// others have on theirs.
#pragma once

#include <memory>
#include <string>

#include "core/board/board.hpp"
#include "core/board/other_records.hpp"
#include "core/comm/communicator.hpp"
#include "core/comm/rank_groups.hpp"
#include "core/io/private_descriptor.hpp"

namespace bento {

class Boards {
 public:
  struct Opened {
    std::unique_ptr<Boards> boards;  ///< null on all ranks if there can be none
    std::string why;                 ///< then
  };
  /// There are none on several nodes. Collective; a message down a tree for the way to meet, and
  /// one up and down for whether all have come. Errors: kPeer.
  static Result<Opened> open(Communicator& ranks, const RankGroups& nodes,
                             OtherRecords::Metadata metadata);

  [[nodiscard]] Board& mine() { return mine_; }
  [[nodiscard]] OtherRecords& others() { return others_; }
  /// Of transfers in MPI's atomic mode.
  [[nodiscard]] NodeLock& lock();
  /// After a commit or an exchange.
  void next_epoch() {
    mine_.next_epoch();
    others_.next_epoch();
  }

 private:
  Boards(PrivateDescriptor memory, SharedWindow heads, const std::vector<std::uint32_t>& ranks,
         std::uint32_t mine, OtherRecords::Metadata metadata);

  PrivateDescriptor memory_;
  SharedWindow heads_;
  Board mine_;
  OtherRecords others_;
};

}  // namespace bento
