// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A table with one entry for each node, in the memory of rank 0's node, which says how much the
/// ranks of each have published and until when. Whoever reads or writes asks it alone, so that this
/// costs the same with any number of nodes but for the bytes. Task-local.
///
/// A node's entry is written by its own ranks, one at a time under a lock that they share. Who has
/// the lock puts what all of them have published so far; those whose own is in it need not put
/// theirs. A put is known to have arrived when a fetch shows it: MPI has no other way of telling
/// that does not wait for the other side.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/board/board_memory.hpp"
#include "core/comm/remote_memory.hpp"

namespace bento {

class NodeTable {
 public:
  struct Entry {
    std::uint64_t count = 0;    ///< differs if ranks of the node have published more
    std::uint64_t time_ns = 0;  ///< later than all that they had published at that count
    bool operator==(const Entry&) const = default;
  };
  struct Place {
    std::uint64_t address = 0;  ///< in the process of rank 0
    std::span<NodeEntry> here;  ///< the same table, of ranks of rank 0's node; else empty
    std::uint32_t nodes = 0;
    std::uint32_t mine = 0;  ///< number of this rank's node
    double timeout_s = 0;    ///< 0 waits for ever
  };
  /// `memory` and `node`, the head of this rank's node, must outlive this.
  NodeTable(RemoteMemory& memory, NodeHead& node, const Place& place);

  /// All entries; valid until the next call. One fetch, of 16 bytes a node; none on rank 0's node.
  /// Errors: kPeer.
  Result<std::span<const Entry>> look();
  /// A time later than that of all that ranks of other nodes have shown, and of all that those of
  /// this one have published. Costs a look(). Errors: kPeer.
  Result<std::uint64_t> latest_time();
  /// Others find what this rank has published, and its time, when this returns: a put and a fetch
  /// that sees it, unless another rank of the node has put it. Errors: kPeer (the deadline passed,
  /// or a rank is gone).
  Status show();
  /// Puts a value that show() never does, and says whether it has arrived while rank 0, whose word
  /// is at `at_rest`, rested. `round` must be another one each time. Errors: kPeer.
  Result<bool> try_put(std::uint64_t at_rest, std::uint32_t round, double within_s);

 private:
  Status put_all(std::uint64_t mine);
  Status put(const Entry& entry);

  RemoteMemory* memory_;
  NodeHead* node_;
  Place place_;
  std::vector<Entry> entries_;
};

}  // namespace bento
