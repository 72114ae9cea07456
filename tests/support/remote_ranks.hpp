// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Threads as ranks of several nodes, which read each other's memory without help.
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

/// What the ranks have exposed, and what a test wants of fetches. Must outlive all.
class RemoteRanks {
 public:
  using Fetch = std::function<Status(int rank, std::span<const RemotePart> parts)>;
  explicit RemoteRanks(int nodes) : nodes_(nodes) {}

  /// Is called before each fetch; its error is that of the fetch.
  void before_fetch(Fetch hook) { before_fetch_ = std::move(hook); }
  /// A rank of this group by way of `ranks`, which must outlive it.
  [[nodiscard]] std::unique_ptr<Communicator> communicator(Communicator& ranks);

 private:
  friend class ThreadMemory;
  friend class NodeCommunicator;
  void expose(int rank, std::byte* begin, std::uint64_t bytes);
  void close(int rank);
  Status fetch(int rank, std::span<const RemotePart> parts);

  int nodes_;
  Fetch before_fetch_;
  std::mutex mutex_;
  std::map<int, std::vector<std::pair<std::uint64_t, std::uint64_t>>> exposed_;
};

}  // namespace bento::test
