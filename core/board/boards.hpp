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
#include "core/io/private_descriptor.hpp"

namespace bento {

class Boards {
 public:
  struct Opened {
    std::unique_ptr<Boards> boards;  ///< null on all ranks if there can be none
    std::string why;                 ///< then
    /// What to add to the steady clock of the node for rank 0's time of day, on all ranks.
    std::int64_t clock_ns = 0;
  };
  /// Collective; a message up and down a tree for the nodes, for the way to meet, and for whether
  /// all have come. On several nodes
  /// there are none. Errors: kPeer.
  static Result<Opened> open(Communicator& ranks, OtherRecords::Metadata metadata);

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
  Boards(PrivateDescriptor memory, SharedWindow heads, std::vector<std::uint32_t> ranks,
         std::uint32_t mine, OtherRecords::Metadata metadata);

  PrivateDescriptor memory_;
  SharedWindow heads_;
  Board mine_;
  OtherRecords others_;
};

}  // namespace bento
