// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The boards of the ranks that have a container open for writing: this rank's own, and what the
/// others have on theirs.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/program_call.hpp"
#include "core/board/board.hpp"
#include "core/board/node_table.hpp"
#include "core/board/other_records.hpp"
#include "core/board/remote_nodes.hpp"
#include "core/comm/communicator.hpp"
#include "core/comm/rank_groups.hpp"
#include "core/io/descriptor_passing.hpp"
#include "core/io/private_descriptor.hpp"

namespace bento {

class Boards {
 public:
  struct Opened {
    std::unique_ptr<Boards> boards;  ///< null on all ranks if there can be none
    std::string why;                 ///< then
  };
  /// Those of ranks on several nodes need memory that can be read from afar while its owner makes
  /// no call, which is tried here. Collective; a message down a tree for the way to meet, and one
  /// up and down for whether all have come; with several nodes as many again for where their memory
  /// lies, and at the first time between these nodes what probe_at_rest() costs. Who waits for
  /// other nodes later does so for `timeout_s`, 0 for ever. Errors: kPeer.
  static Result<Opened> open(Communicator& ranks, const RankGroups& nodes, double timeout_s,
                             OtherRecords::Metadata metadata);
  /// What others may still read stays mapped where close() was not called.
  ~Boards();
  /// Nobody reads or writes any more. Collective, whatever came before; if it fails on one rank,
  /// nothing is freed on any. Errors: kPeer.
  Status close(Communicator& ranks);

  [[nodiscard]] Board& mine() { return *mine_; }
  [[nodiscard]] OtherRecords& others() { return *others_; }
  /// A time that is later than those of all records that other ranks have shown; 0 if all ranks are
  /// on one node, whose clock they have. Costs what NodeTable::look() does. Errors: kPeer.
  Result<std::uint64_t> latest_time();
  /// Ranks of other nodes find what this one has published, and its time, when this returns.
  /// Errors: kPeer.
  Status show();
  /// Was that asked in this call of the program, and nothing published since?
  [[nodiscard]] bool ordered() const { return ordered_in_ == ProgramCall::number(); }
  void set_ordered(bool ordered) {
    ordered_in_.reset();
    if (ordered) ordered_in_ = ProgramCall::number();
  }
  /// Of transfers in MPI's atomic mode, where all ranks are on one node.
  [[nodiscard]] NodeLock& lock();
  /// After a commit or an exchange.
  void next_epoch() {
    mine_->next_epoch();
    others_->next_epoch();
  }

 private:
  /// What the ranks of a node share, and what there is of others.
  struct Parts {
    std::vector<std::uint32_t> here;  ///< ranks of the node, ascending
    std::uint32_t mine = 0;           ///< this one's index
    std::uint32_t node = 0;           ///< the node's number
    std::uint32_t table = 0;          ///< entries of the table of nodes, 0 on all but rank 0's node
    std::optional<PrivateDescriptor> memory;
    std::unique_ptr<SharedWindow> heads;
    std::unique_ptr<RemoteMemory> remote;  ///< null: all ranks are on this node
  };
  explicit Boards(Parts parts) : parts_(std::move(parts)) {}

  [[nodiscard]] NodeHead& node() const;
  [[nodiscard]] std::span<RankHead> rank_heads() const;
  [[nodiscard]] std::span<LogWord> words() const;
  [[nodiscard]] std::span<NodeEntry> table() const;
  [[nodiscard]] std::uint64_t own_head_bytes() const;
  [[nodiscard]] bool leads() const { return parts_.mine == 0; }
  static Status share_memory(Parts& parts, const MeetingPlace& meeting);
  Status reach_others(Communicator& ranks, const RankGroups& nodes, double timeout_s);
  Status expose();
  Result<std::vector<RemoteNodes::Addresses>> exchange_addresses(Communicator& ranks);

  Parts parts_;
  std::unique_ptr<NodeTable> table_;  ///< null: all ranks are on this node
  std::unique_ptr<RemoteNodes> remote_;
  std::optional<std::uint64_t> ordered_in_;  ///< number of the call
  std::optional<Board> mine_;
  std::optional<OtherRecords> others_;
};

}  // namespace bento
