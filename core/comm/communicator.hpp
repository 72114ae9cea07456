// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What the core needs from a group of ranks. MPI is behind it in vol/mpi; threads are behind it in
/// tests. Every call is collective over the group, and every wait has a deadline: when a rank is
/// gone, the others get an error (kPeer) that names the ranks known to be missing, and the group is
/// unusable from then on.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "core/comm/node.hpp"
#include "core/comm/remote_memory.hpp"

namespace bento {

using Bytes = std::vector<std::byte>;

class Communicator {
 public:
  virtual ~Communicator() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;

  /// Collects one payload per rank on rank 0 along a binary tree. Returns them in rank order on
  /// rank 0, and nothing elsewhere. Collective. Errors: kPeer (deadline passed; text names the
  /// missing ranks).
  virtual Result<std::vector<Bytes>> gather(std::span<const std::byte> payload) = 0;

  /// Merges one payload per rank into one on rank 0, on the way up the tree, so that no rank sees
  /// more than what its neighbours made of theirs. merge(lower, higher) gets payloads of adjacent
  /// ranges of ranks, the lower ranks' first; it must be associative and cannot fail (a failure is
  /// something that a payload says). Returns nothing elsewhere. Collective. Errors: kPeer.
  using Merge =
      std::function<Bytes(std::span<const std::byte> lower, std::span<const std::byte> higher)>;
  virtual Result<Bytes> combine(std::span<const std::byte> payload, const Merge& merge) = 0;

  /// Sends rank 0's payload to everybody along a binary tree. Returns it on every rank. Collective.
  virtual Result<Bytes> broadcast(std::span<const std::byte> payload) = 0;

  /// Sends `payload` to the rank that is `distance` further, and returns what the one that is
  /// `distance` behind has sent: ranks stand in a circle, rank 0 behind the last. `distance`, which
  /// may be negative, is the same on all ranks. Returns when that one message is there, which says
  /// nothing of the other ranks. Collective. Errors: kPeer (deadline passed; text names the missing
  /// rank).
  virtual Result<Bytes> shift(int distance, std::span<const std::byte> payload) = 0;

  /// For who waits for something else than a message: lets messages of the program go on that move
  /// only while this rank calls MPI. Not collective.
  virtual void progress() {}

  /// Memory of the ranks that all of them can read. Collective, without a deadline. Errors:
  /// kUnsupported (this group has none: says why).
  virtual Result<std::unique_ptr<RemoteMemory>> open_remote_memory() {
    return fail(Code::kUnsupported, "ranks do not read each other's memory");
  }

  /// Was the memory of ranks on these nodes (RankGroups::identity()) found to be reached while they
  /// make no call? What one group of ranks of a process has found, later ones need not try again.
  /// Not collective.
  [[nodiscard]] virtual bool reaches_at_rest(const Hash128&) const { return false; }
  virtual void note_reaches_at_rest(const Hash128&) {}

  /// Names the node that this rank runs on: equal on the ranks that share it (core/comm/node.hpp),
  /// different elsewhere. Not collective.
  [[nodiscard]] virtual std::string node() const { return name_of_node(rank()); }
};

/// A group of one. Never waits, never fails.
std::unique_ptr<Communicator> make_self_communicator();

}  // namespace bento
