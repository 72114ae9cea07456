// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Threads as ranks of several nodes, which read and write each other's memory without help.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/comm/communicator.hpp"

namespace bento::test {

/// What the ranks have exposed, and what a test wants of fetches and puts. Must outlive all.
class RemoteRanks {
 public:
  using Fetch = std::function<Status(int rank, std::span<const RemotePart> parts)>;
  using ReadAgain = std::function<bool(std::span<const RemotePart> parts)>;
  using Put = std::function<Result<unsigned>(int rank)>;
  explicit RemoteRanks(int nodes) : nodes_(nodes) {}

  /// Is called before each fetch; its error is that of the fetch.
  void before_fetch(Fetch hook) { before_fetch_ = std::move(hook); }
  /// Is called after each fetch with what was read; while it is true, all is read again.
  void read_again_while(ReadAgain hook) { read_again_ = std::move(hook); }
  /// Is called before each put; the result says before which of the following fetches of that rank
  /// it arrives, 0: at once.
  void before_put(Put hook) { before_put_ = std::move(hook); }
  /// What was found of the memory of ranks at rest is remembered from now on.
  void remember() { remembers_ = true; }
  /// A rank of this group by way of `ranks`, which must outlive it.
  [[nodiscard]] std::unique_ptr<Communicator> communicator(Communicator& ranks);

 private:
  friend class ThreadMemory;
  friend class NodeCommunicator;
  void expose(int rank, std::byte* begin, std::uint64_t bytes);
  void close(int rank);
  Status fetch(int rank, std::span<const RemotePart> parts);
  Status read(std::span<const RemotePart> parts);
  Status put(int rank, std::uint32_t to, std::uint64_t address, std::span<const std::byte> bytes);
  /// With the lock.
  Status inside(std::uint32_t rank, std::uint64_t address, std::size_t bytes);
  void arrive(int rank);

  int nodes_;
  bool remembers_ = false;
  std::map<int, Hash128> reached_;
  Fetch before_fetch_;
  ReadAgain read_again_;
  Put before_put_;
  struct OnItsWay {
    unsigned fetches = 0;
    std::uint64_t address = 0;
    std::vector<std::byte> bytes;
  };
  std::map<int, std::vector<OnItsWay>> on_their_way_;
  std::mutex mutex_;
  std::map<int, std::vector<std::pair<std::uint64_t, std::uint64_t>>> exposed_;
};

}  // namespace bento::test
