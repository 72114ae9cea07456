// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Checks of MpiCommunicator, run under mpirun with any number of ranks:
///   mpi_comm_test contents [BIG_MIB [ROUNDS]]   gather, broadcast, shift; messages of BIG_MIB MiB,
///                                         10,000 or ROUNDS small rounds
///   mpi_comm_test missing RANK [leave]    RANK stays away for longer than the timeout; what do the
///                                         others say? With leave, it never comes at all
///   mpi_comm_test missing_shift RANK [leave]   the same where the others begin with shifts
///   mpi_comm_test untaken                 the last rank gathers, and stays away from the broadcast
///   mpi_comm_test finalised               calls after MPI_Finalize
/// Rank 0 prints one line per check. The exit status is 1 if a check failed on any rank.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

#include <fmt/format.h>
#include <mpi.h>

#include "core/base/hash.hpp"
#include "core/comm/equal_keys.hpp"
#include "core/comm/rank_tree.hpp"
#include "vol/mpi/mpi_comm.hpp"

using bento::Bytes;
using bento::Code;
using bento::vol::MpiCommunicator;

namespace {

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

int failed_checks = 0;

/// Collective over MPI_COMM_WORLD, which the communicator under test does not use.
void check(bool mine, const std::string& what, const std::string& detail = {}) {
  if (!mine) std::printf("  rank %d: %s: %s\n", world_rank(), what.c_str(), detail.c_str());
  int good = mine ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (world_rank() == 0)
    std::printf("%s %s%s%s\n", good != 0 ? "ok  " : "FAIL", what.c_str(),
                detail.empty() ? "" : ": ", detail.c_str());
  if (good == 0) ++failed_checks;
}

double now() {
  return MPI_Wtime();
}

/// What rank `rank` sends in round `round`: lengths differ between ranks, some are empty.
Bytes payload_of(int rank, int round) {
  const auto length = static_cast<std::size_t>((rank * 7 + round * 13) % 97);
  Bytes bytes(length);
  for (std::size_t i = 0; i < length; ++i)
    bytes[i] = static_cast<std::byte>(static_cast<int>(i) + rank + round);
  return bytes;
}

bool right_gather(const bento::Result<std::vector<Bytes>>& gathered, int round) {
  if (!gathered) return false;
  if (world_rank() != 0) return gathered->empty();
  if (static_cast<int>(gathered->size()) != world_size()) return false;
  for (int rank = 0; rank < world_size(); ++rank)
    if ((*gathered)[static_cast<std::size_t>(rank)] != payload_of(rank, round)) return false;
  return true;
}

std::unique_ptr<MpiCommunicator> make(double timeout_s) {
  MPI_Comm mine = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &mine);
  auto made = MpiCommunicator::take(mine, timeout_s, "box.h5");
  if (!made) std::abort();
  return std::move(*made);
}

/// Neighbours run ahead of each other: two shifts may go the same way in turn, and messages to all
/// come in between. With 2 ranks all of these go to the same one.
bool right_shifts(MpiCommunicator& comm, int rounds) {
  constexpr std::array kDistances = {1, 1, -1, 2, 4, -2, 1, 7, 0, -1};
  for (int round = 0; round < rounds; ++round) {
    const int distance = kDistances[static_cast<std::size_t>(round) % kDistances.size()];
    const auto got = comm.shift(distance, payload_of(comm.rank(), round));
    if (!got || *got != payload_of(bento::further_by(comm.rank(), -distance, comm.size()), round))
      return false;
    if (round % 13 == 5) {
      const auto told = comm.broadcast(comm.rank() == 0 ? payload_of(3, round) : Bytes{});
      if (!told || *told != payload_of(3, round)) return false;
    }
    if (round % 29 == 7 && !right_gather(comm.gather(payload_of(comm.rank(), round)), round))
      return false;
    if (round < 100 && comm.rank() == round % comm.size())
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

/// All ranks send at the same time, in pieces and behind each other on the same way.
void check_big_shift(MpiCommunicator& comm, std::size_t mib) {
  const auto bytes = (mib << 20) / static_cast<std::size_t>(comm.size()) + 1;
  const double begin = now();
  bool right = true;
  for (const int distance : {1, 1, -1}) {
    const Bytes mine(bytes, static_cast<std::byte>(comm.rank() + 10 * distance));
    const int from = bento::further_by(comm.rank(), -distance, comm.size());
    const auto got = comm.shift(distance, mine);
    right = right && got && *got == Bytes(bytes, static_cast<std::byte>(from + 10 * distance));
  }
  check(right, fmt::format("3 shifts of {} MiB of all ranks", mib),
        fmt::format("{:.2f} s", now() - begin));
}

void check_big(MpiCommunicator& comm, std::size_t mib) {
  // Only the last rank has much to say: rank 0 could not hold everybody's.
  Bytes big(comm.rank() == comm.size() - 1 ? mib << 20 : 5);
  for (std::size_t i = 0; i < big.size(); i += 4096) big[i] = static_cast<std::byte>(i >> 12);
  double begin = now();
  auto gathered = comm.gather(big);
  double seconds = now() - begin;
  bool right = gathered.has_value();
  if (right && comm.rank() == 0) {
    const Bytes& last = gathered->back();
    right = last.size() == mib << 20;
    for (std::size_t i = 0; right && i < last.size(); i += 4096)
      right = last[i] == static_cast<std::byte>(i >> 12);
  }
  check(right, fmt::format("gather with {} MiB of the last rank", mib),
        fmt::format("{:.2f} s", seconds));
  Bytes from_root = comm.rank() == 0 && gathered ? std::move(gathered->back()) : Bytes{};
  begin = now();
  const auto got = comm.broadcast(from_root);
  seconds = now() - begin;
  right = got && got->size() == mib << 20;
  for (std::size_t i = 0; right && i < got->size(); i += 4096)
    right = (*got)[i] == static_cast<std::byte>(i >> 12);
  check(right, fmt::format("broadcast of {} MiB", mib), fmt::format("{:.2f} s", seconds));
  check_big_shift(comm, mib);
}

void contents(std::size_t big_mib, int rounds) {
  auto comm = make(60);
  check(comm->rank() == world_rank() && comm->size() == world_size(), "rank and size");
  bool right = true;
  for (int round = 0; round < 50; ++round) {
    right = right && right_gather(comm->gather(payload_of(comm->rank(), round)), round);
    const auto got = comm->broadcast(comm->rank() == 0 ? payload_of(5, round) : Bytes{});
    right = right && got && *got == payload_of(5, round);
  }
  check(right, "gather and broadcast, 50 rounds of uneven and empty payloads");
  for (int round = 0; round < 50; ++round)
    right = right && right_gather(comm->gather(payload_of(comm->rank(), round)), round);
  for (int round = 0; round < 50; ++round) {
    const auto got = comm->broadcast(comm->rank() == 0 ? payload_of(9, round) : Bytes{});
    right = right && got && *got == payload_of(9, round);
  }
  check(right, "50 gathers in a row, then 50 broadcasts in a row");
  // Ranks that run ahead of others.
  if (comm->rank() == comm->size() - 1) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  right =
      right_gather(comm->gather(payload_of(comm->rank(), 1)), 1) && comm->broadcast({}).has_value();
  check(right, "the last rank comes late");
  check(right_shifts(*comm, 400), "400 shifts of several distances, with others in between");

  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now();
  const Bytes small(16);
  for (int round = 0; round < rounds && right; ++round)
    right = comm->gather(small).has_value() && comm->broadcast(small).has_value();
  check(right, fmt::format("{} small rounds", rounds),
        fmt::format("{:.1f} us per gather and broadcast", (now() - begin) / rounds * 1e6));
  if (big_mib > 0) check_big(*comm, big_mib);
  comm.reset();
  check(true, "freed");
}

/// One collective of the kind that commits are made of.
bento::Status commit(MpiCommunicator& comm) {
  const Bytes some(8);
  BENTO_TRY(comm.gather(some));
  BENTO_TRY(comm.broadcast(some));
  return {};
}

/// The same, with merging among ranks of two kinds before it, which each rank begins by itself.
bento::Status commit_of_kinds(MpiCommunicator& comm) {
  const Bytes kind(1, static_cast<std::byte>(comm.rank() % 2));
  const auto all = [](std::span<const std::byte> one, std::span<const std::byte> other) {
    Bytes both(one.begin(), one.end());
    both.insert(both.end(), other.begin(), other.end());
    return both;
  };
  BENTO_ASSIGN(const Bytes alike, bento::combine_equal(comm, bento::hash128(kind), kind, all));
  if (alike.size() != static_cast<std::size_t>((comm.size() + 1 - comm.rank() % 2) / 2))
    return bento::fail(Code::kInternal, "not all of a kind");
  return commit(comm);
}

void missing(int absent, bool leave, bento::Status (*commit)(MpiCommunicator&)) {
  constexpr double kTimeout = 2;
  auto comm = make(kTimeout);
  const bool am_absent = comm->rank() == absent;
  check(commit(*comm).has_value(), "one commit with everybody");
  const auto back = std::chrono::steady_clock::now() + std::chrono::seconds(9);
  if (am_absent) std::this_thread::sleep_until(back);
  if (am_absent && leave) {
    check(true, "answered in time with kPeer");
    check(true, "names the absent rank");
  } else {
    const double begin = now();
    const auto done = commit(*comm);
    const double seconds = now() - begin;
    // Rank 0's verdict tells everybody; without rank 0 the others wait twice as long, since it may
    // itself have come late and be waiting.
    const double limit = absent == 0 && commit != &commit_of_kinds ? 7 : 4;
    check(!done && done.error().code == Code::kPeer && seconds < limit,
          "answered in time with kPeer",
          fmt::format("{:.2f} s; {}", seconds, done ? "success" : done.error().text));
    const bool names = !done && done.error().text.find(std::to_string(absent)) != std::string::npos;
    // In MPI they would keep the processors busy until it is back.
    std::this_thread::sleep_until(back);
    check(names || am_absent, "names the absent rank");
  }
  const double begin = now();
  const auto again = commit(*comm);
  const bool at_once = now() - begin < 0.05 && !again && again.error().code == Code::kPeer;
  check(at_once || (am_absent && leave), "later calls fail at once");
  if (am_absent && leave) {
    // Has not heard of it yet: its next call must not wait either.
    check(!again && again.error().code == Code::kPeer, "the absent rank hears of it",
          again ? "success" : again.error().text);
  } else {
    check(true, "the absent rank hears of it", comm->rank() == 0 ? "(elsewhere)" : "");
  }
  const double end = now();
  comm.reset();
  check(now() - end < 0.5, "a broken communicator is dropped without waiting");
}

/// Rank 0 has all it needs, but cannot tell the last rank, whose parent it must be.
void untaken() {
  constexpr double kTimeout = 5;  // the other ranks must answer in time on a busy machine too
  auto comm = make(kTimeout);
  const int last = comm->size() - 1;
  const bool gathered = comm->gather(Bytes(8)).has_value();
  check(gathered, "all ranks gather");
  if (comm->rank() == last) std::this_thread::sleep_for(std::chrono::seconds(11));
  const auto told = comm->broadcast(Bytes(comm->rank() == 0 ? std::size_t{1} << 20 : 0));
  const bool names = !told && told.error().text.find(fmt::format("'box.h5': rank {} did not answer",
                                                                 last)) != std::string::npos;
  check(comm->rank() != 0 || names, "names the rank that did not take it",
        told ? "success" : told.error().text);
  comm.reset();
}

void finalised() {
  auto group = make(2);
  MPI_Comm self = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_SELF, &self);
  auto alone = MpiCommunicator::take(self, 2, "box.h5");
  const int rank = world_rank();
  const int size = world_size();
  MPI_Finalize();
  const Bytes some(8);
  const auto late = group->gather(some);
  const bool refused = size == 1 || (!late && late.error().code == Code::kPeer);
  const bool works =
      alone && (*alone)->gather(some).has_value() && (*alone)->broadcast(some).has_value();
  group.reset();
  alone->reset();
  const bool none = !MpiCommunicator::take(MPI_COMM_WORLD, 2, "box.h5");
  if (rank == 0) {
    std::printf("%s after MPI_Finalize a group fails: %s\n", refused ? "ok  " : "FAIL",
                late ? "(size 1)" : late.error().text.c_str());
    std::printf("%s after MPI_Finalize a group of one works\n", works ? "ok  " : "FAIL");
    std::printf("%s after MPI_Finalize nothing can be taken\n", none ? "ok  " : "FAIL");
  }
  if (!refused || !works || !none) ++failed_checks;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const int rank = world_rank();
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "contents") {
    contents(argc > 2 ? static_cast<std::size_t>(std::atoi(argv[2])) : 0,
             argc > 3 ? std::atoi(argv[3]) : 10'000);
  } else if (mode == "missing" && argc > 2) {
    missing(std::atoi(argv[2]), argc > 3, &commit);
  } else if (mode == "missing_shift" && argc > 2) {
    missing(std::atoi(argv[2]), argc > 3, &commit_of_kinds);
  } else if (mode == "untaken") {
    untaken();
  } else if (mode == "finalised") {
    finalised();
  } else {
    std::fprintf(stderr,
                 "usage: mpi_comm_test contents [BIG_MIB [ROUNDS]] | missing RANK [leave] | "
                 "missing_shift RANK [leave] | untaken | finalised\n");
    failed_checks = 1;
  }
  int gone = 0;
  MPI_Finalized(&gone);
  if (gone == 0) MPI_Finalize();
  // For mpi_comm.py.
  if (failed_checks == 0) std::printf("rank %d has ended well\n", rank);
  return failed_checks == 0 ? 0 : 1;
}
