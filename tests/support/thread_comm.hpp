// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Threads as ranks: collective code runs in one process, under the sanitizers, without mpirun.
/// Like MPI, a rank returns from a collective as soon as it has what it needs, not when everybody
/// is there.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "core/comm/communicator.hpp"

namespace bento::test {

/// How long a rank waits for another one. The thread sanitizer makes some of them ten times slower.
#ifdef __SANITIZE_THREAD__
inline constexpr std::chrono::seconds kPatience(200);
#else
inline constexpr std::chrono::seconds kPatience(20);
#endif

/// A group of `size` ranks. Each rank's communicator belongs to one thread; all must be gone before
/// the group.
class ThreadGroup {
 public:
  explicit ThreadGroup(int size, std::chrono::milliseconds deadline = kPatience);
  ~ThreadGroup();
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;

  [[nodiscard]] std::unique_ptr<Communicator> communicator(int rank);
  /// The rank will make no further call: whoever needs it fails now and not only at the deadline.
  void leave(int rank);

  struct State;

 private:
  std::shared_ptr<State> state_;
};

/// Runs `body` once per rank, each in a thread of its own. A rank that returns has left the group.
/// Returns the ranks' results in rank order.
std::vector<Status> run_ranks(int size, const std::function<Status(Communicator&)>& body,
                              std::chrono::milliseconds deadline = kPatience);

}  // namespace bento::test
