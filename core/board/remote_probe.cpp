// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/board/remote_probe.hpp"

#include <chrono>
#include <cstddef>
#include <thread>

#include <fmt/format.h>

#include "core/comm/agree.hpp"

namespace bento {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// On a busy machine who asks may get no processor while the other one rests.
constexpr milliseconds kShortestRest(20);
constexpr unsigned kRounds = 4;

void rest(std::atomic<std::uint64_t>& at_rest, milliseconds time) {
  at_rest.store(1);
  std::this_thread::sleep_for(time);
  at_rest.store(0);
}

// The word is 1 only while its owner rests: who reads that was answered without its help. An answer
// that waits until the owner calls is a 0.
Status ask(RemoteMemory& memory, const RestProbe::Place& place, milliseconds time) {
  const auto until = Clock::now() + time;
  do {
    std::uint64_t word = 0;
    const RemotePart part{place.rank, place.address,
                          std::as_writable_bytes(std::span<std::uint64_t, 1>(&word, 1))};
    BENTO_TRY(memory.fetch({&part, 1}));
    if (word == 1) return {};
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  } while (Clock::now() < until);
  return fail(Code::kUnsupported,
              fmt::format("MPI does not read the memory of rank {} while that makes no call of it",
                          place.rank));
}

// Others write to rank 0's memory only.
Status ask_zero(RemoteMemory& memory, const RestProbe& probe, milliseconds time) {
  const RestProbe::Place& zero = probe.nodes[0];
  BENTO_TRY(ask(memory, zero, time));
  const double within_s = std::chrono::duration<double>(time).count();
  const auto round = static_cast<std::uint32_t>(time.count());
  BENTO_ASSIGN(const bool arrived, probe.table->try_put(zero.address, round, within_s));
  if (arrived) return {};
  return fail(Code::kUnsupported,
              "MPI does not write to the memory of rank 0 while that makes no call of it");
}

/// Until all that are asked have answered at rest, or not in any round. Collective.
template <class Ask>
Status try_rounds(Communicator& ranks, const RestProbe& probe, bool rests, const Ask& ask_in) {
  Status all;
  for (unsigned round = 0; round < kRounds; ++round) {
    const milliseconds time = kShortestRest * (1 << round);
    BENTO_TRY(agree(ranks, {}));
    Status mine;
    if (rests)
      rest(*probe.at_rest, time);
    else
      mine = ask_in(time);
    all = agree(ranks, mine);
    if (all || all.error().code != Code::kUnsupported) return all;
  }
  return all;
}

}  // namespace

Status probe_at_rest(Communicator& ranks, RemoteMemory& memory, const RestProbe& probe) {
  const bool first = probe.at_rest != nullptr;
  const bool zero = ranks.rank() == 0;
  BENTO_TRY(try_rounds(ranks, probe, zero, [&](milliseconds time) {
    return first ? ask_zero(memory, probe, time) : Status{};
  }));
  return try_rounds(ranks, probe, first && !zero, [&](milliseconds time) -> Status {
    for (std::size_t node = 1; zero && node < probe.nodes.size(); ++node)
      BENTO_TRY(ask(memory, probe.nodes[node], time));
    return {};
  });
}

}  // namespace bento
