// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Fibers as ranks: the communicator of core/comm along the same tree and in the same order as the
/// one over MPI, with every message counted. Nothing is ever late here.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "bench/scale/fibers.hpp"
#include "core/comm/communicator.hpp"

namespace bento::scale {

/// What one rank has sent and got.
struct Traffic {
  std::uint64_t sent = 0;  ///< messages
  std::uint64_t got = 0;
  std::uint64_t bytes_sent = 0;  ///< with the head of each message
  std::uint64_t bytes_got = 0;
};

class FiberGroup {
 public:
  /// `ranks_per_node` neighbours share a node. 0: nodes are those of name_of_node().
  FiberGroup(Fibers& fibers, int ranks, int ranks_per_node);

  std::shared_ptr<Communicator> communicator(int rank);
  [[nodiscard]] int size() const { return static_cast<int>(traffic_.size()); }
  /// Of each rank, since the last reset_traffic().
  [[nodiscard]] const std::vector<Traffic>& traffic() const { return traffic_; }
  void reset_traffic();

 private:
  friend class FiberCommunicator;
  using Message = std::shared_ptr<const Bytes>;
  void send(int from, int to, Message message);
  Message receive(int from, int to);
  [[nodiscard]] static std::uint64_t lane(int from, int to) {
    return static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint32_t>(to);
  }

  Fibers& fibers_;
  int ranks_per_node_;
  std::vector<Traffic> traffic_;
  std::unordered_map<std::uint64_t, std::vector<Message>> under_way_;  ///< one or two a lane
};

}  // namespace bento::scale
