// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Shifts in a circle of ranks, and what is built of them: merging among ranks with equal keys.
#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/comm/equal_keys.hpp"
#include "core/comm/own_group.hpp"
#include "core/comm/rank_groups.hpp"
#include "core/comm/rank_tree.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/thread_comm.hpp"

using namespace bento;
using namespace bento::test;
using namespace std::chrono_literals;

namespace {

using Keys = std::vector<std::uint32_t>;

Hash128 key_of(std::uint32_t number) {
  ByteWriter out;
  out.u32(number);
  return hash128(out.view());
}

/// What `size` ranks have in common: neighbours, every so-manieth rank, chance, all, nothing.
std::vector<Keys> patterns(std::uint32_t size, std::mt19937& random) {
  std::vector<Keys> all(6, Keys(size));
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    all[0][rank] = rank / 4;
    all[1][rank] = rank % 3;
    all[2][rank] = static_cast<std::uint32_t>(random() % (size / 3 + 1));
    all[3][rank] = 7;
    all[4][rank] = 100 + rank;
    all[5][rank] = rank == size / 2 ? 1 : 0;
  }
  return all;
}

/// A number, and who has brought it, so that nobody is counted twice unseen.
bento::Bytes sum(std::span<const std::byte> one, std::span<const std::byte> other) {
  ByteReader left(one);
  ByteReader right(other);
  ByteWriter out;
  out.u64(left.u64().value() + right.u64().value());
  const auto behind = one.subspan(left.offset());
  out.bytes(behind);
  out.bytes(other.subspan(right.offset()));
  return std::move(out).take();
}

bento::Bytes brought_by(std::uint32_t rank) {
  ByteWriter out;
  out.u64((rank + 3) * 1000003ULL);
  out.u32(rank);
  return std::move(out).take();
}

Status expect_sum(const bento::Bytes& got, const Keys& keys, std::uint32_t rank) {
  std::uint64_t expected = 0;
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t other = 0; other < keys.size(); ++other) {
    if (keys[other] != keys[rank]) continue;
    expected += (other + 3) * 1000003ULL;
    ranks.push_back(other);
  }
  ByteReader in(got);
  BENTO_ASSIGN(const std::uint64_t found, in.u64());
  std::vector<std::uint32_t> seen;
  while (in.remaining() != 0) {
    BENTO_ASSIGN(const std::uint32_t one, in.u32());
    seen.push_back(one);
  }
  std::ranges::sort(seen);
  if (found == expected && seen == ranks) return {};
  return fail(Code::kInternal, fmt::format("rank {}: {} of {} ranks instead of {} of {}", rank,
                                           found, seen.size(), expected, ranks.size()));
}

}  // namespace

TEST_CASE("communicator: a circle closes behind the last rank and before the first",
          "[core][comm]") {
  CHECK(further_by(3, 1, 4) == 0);
  CHECK(further_by(0, -1, 4) == 3);
  CHECK(further_by(2, -7, 4) == 3);
  CHECK(further_by(2, 8, 4) == 2);
  CHECK(further_by(0, 0, 1) == 0);
  CHECK(further_by(2147483646, 2147483647, 2147483647) == 2147483646);
}

TEST_CASE("communicator: a shift brings what the rank behind has sent, either way round",
          "[core][comm]") {
  const auto payload = [](int rank, int round) {
    return bento::Bytes(static_cast<std::size_t>((rank * 5 + round) % 11), std::byte(rank + round));
  };
  for (const int size : {1, 2, 3, 8, 13}) {
    const auto results = run_ranks(size, [&](Communicator& comm) -> Status {
      constexpr std::array kDistances = {1, 1, -1, 2, -2, 5, 0, -13, 40};
      for (int round = 0; round < 45; ++round) {
        const int distance = kDistances[static_cast<std::size_t>(round) % kDistances.size()];
        BENTO_ASSIGN(const auto got, comm.shift(distance, payload(comm.rank(), round)));
        const int from = further_by(comm.rank(), -distance, size);
        if (got != payload(from, round))
          return fail(Code::kInternal, fmt::format("round {}, rank {}", round, comm.rank()));
        if (comm.rank() == round % size) std::this_thread::sleep_for(1ms);
        if (round % 7 == 0) BENTO_TRY(comm.broadcast({}));
      }
      return {};
    });
    for (const auto& result : results) require_ok(result);
  }
}

TEST_CASE("communicator: who waits in a shift names the rank that is missing", "[core][comm]") {
  const auto results = run_ranks(
      5,
      [](Communicator& comm) -> Status {
        if (comm.rank() == 3) return {};
        BENTO_TRY(combine_equal(comm, key_of(1), brought_by(0), &sum));
        return {};
      },
      20s);
  for (const std::size_t rank : {0U, 1U, 2U, 4U})
    require_error(results[rank], Code::kPeer, {"rank 3", "shift"});
}

TEST_CASE("communicator: shifts of different distances are found out", "[core][comm]") {
  const auto results = run_ranks(3, [](Communicator& comm) -> Status {
    BENTO_TRY(comm.shift(comm.rank() == 1 ? 2 : 1, {}));
    BENTO_TRY(comm.broadcast({}));
    return {};
  });
  CHECK(std::ranges::any_of(results, [](const Status& one) { return !one; }));
}

TEST_CASE("equal keys: each rank has what all with its key have brought", "[core][comm]") {
  std::mt19937 random(20261129);  // NOLINT: the same each time
  for (std::uint32_t size = 1; size <= 40; ++size) {
    const auto all = patterns(size, random);
    const auto results = run_ranks(static_cast<int>(size), [&](Communicator& comm) -> Status {
      const auto rank = static_cast<std::uint32_t>(comm.rank());
      for (const Keys& keys : all) {
        BENTO_ASSIGN(const auto got,
                     combine_equal(comm, key_of(keys[rank]), brought_by(rank), &sum));
        BENTO_TRY(expect_sum(got, keys, rank));
      }
      return {};
    });
    for (const auto& result : results) require_ok(result);
  }
}

TEST_CASE("equal keys: a payload may be empty, or long", "[core][comm]") {
  const auto results = run_ranks(11, [](Communicator& comm) -> Status {
    const auto rank = static_cast<std::uint32_t>(comm.rank());
    const auto longer = [](std::span<const std::byte> one, std::span<const std::byte> other) {
      const auto kept = one.size() < other.size() ? other : one;
      return bento::Bytes(kept.begin(), kept.end());
    };
    const bento::Bytes mine(rank == 4 ? 100000 : rank == 9 ? 300 : 0, std::byte(rank));
    BENTO_ASSIGN(const auto got, combine_equal(comm, key_of(rank % 3), mine, longer));
    const std::array<std::size_t, 3> bytes{300, 100000, 0};
    if (got.size() != bytes[rank % 3]) return fail(Code::kInternal, "other bytes");
    return {};
  });
  for (const auto& result : results) require_ok(result);
}

TEST_CASE("own group: the same as in the list of all groups", "[core][comm]") {
  std::mt19937 random(7);  // NOLINT: the same each time
  for (std::uint32_t size = 1; size <= 40; size += size < 9 ? 1 : 5) {
    const auto all = patterns(size, random);
    const auto results = run_ranks(static_cast<int>(size), [&](Communicator& comm) -> Status {
      const auto rank = static_cast<std::uint32_t>(comm.rank());
      for (const Keys& keys : all) {
        const Hash128 key = key_of(keys[rank]);
        BENTO_ASSIGN(const OwnGroup own, find_own_group(comm, key));
        BENTO_ASSIGN(const std::uint32_t count, count_groups(comm, own));
        BENTO_ASSIGN(const RankGroups groups, RankGroups::make(comm, key));
        const OwnGroup listed = groups.own(rank);
        if (own.leader != listed.leader || own.ranks != listed.ranks ||
            own.several != listed.several || count != groups.count())
          return fail(Code::kInternal, fmt::format("rank {} of {}: leader {}, {} ranks, {} groups",
                                                   rank, size, own.leader, own.ranks, count));
        if (own.ranks != static_cast<std::uint32_t>(std::ranges::count(keys, keys[rank])) ||
            keys[own.leader] != keys[rank] ||
            std::find(keys.begin(), keys.end(), keys[rank]) - keys.begin() !=
                static_cast<std::ptrdiff_t>(own.leader))
          return fail(Code::kInternal, "not what the keys say");
        if (own.several) continue;
        const RankGroups one = RankGroups::of_one(size, key);
        if (one.identity() != groups.identity() || one.groups() != groups.groups() ||
            one.count() != 1 || one.leader_of(0) != 0)
          return fail(Code::kInternal, "one group is another one without messages");
      }
      return {};
    });
    for (const auto& result : results) require_ok(result);
  }
}
