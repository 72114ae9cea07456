// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Whether the memory of ranks that make no call can be read, and rank 0's written. MPI lets an
/// implementation answer only when the rank next calls it, and which one this is it does not say.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "core/base/error.hpp"
#include "core/board/node_table.hpp"
#include "core/comm/communicator.hpp"

namespace bento {

struct RestProbe {
  /// Of each node: its first rank, and where that has a word that tells whether it is at rest.
  struct Place {
    std::uint32_t rank = 0;
    std::uint64_t address = 0;
  };
  std::vector<Place> nodes;                       ///< node 0's first rank is rank 0
  std::atomic<std::uint64_t>* at_rest = nullptr;  ///< this rank's word; null if it is no first rank
  NodeTable* table = nullptr;                     ///< in rank 0's memory
};

/// Tries rank 0's memory from the other nodes, which read it and write to it, then theirs from rank
/// 0, which reads it, while its owner sleeps: 20 ms each if all is well, and up to 0.3 s if it is
/// not. Collective. Errors, equal on all ranks: kUnsupported (that cannot be done then), kPeer.
Status probe_at_rest(Communicator& ranks, RemoteMemory& memory, const RestProbe& probe);

}  // namespace bento
