// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Nodes whose clocks differ by much more than messages take.
#include <array>
#include <chrono>
#include <cstdlib>

#include <catch2/catch_test_macros.hpp>

#include "core/base/hash.hpp"
#include "core/comm/node_clock.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/thread_comm.hpp"

namespace bento {
namespace {

std::int64_t true_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

TEST_CASE("comm: the clocks of nodes are held against rank 0's", "[core][comm]") {
  constexpr std::int64_t kSecond = 1000000000;
  constexpr std::int64_t kBase = 77 * kSecond;
  // Nodes A, B, A, B, C.
  constexpr std::array<std::int64_t, 5> kSkew = {0, 5 * kSecond, 0, 5 * kSecond, -200000 * kSecond};
  std::array<ClockOffset, 5> found{};
  const auto results = test::run_ranks(5, [&](Communicator& comm) -> Status {
    const auto rank = static_cast<std::size_t>(comm.rank());
    const std::array node{std::byte(std::array{0, 1, 0, 1, 2}[rank])};
    BENTO_ASSIGN(const OwnGroup own, find_own_group(comm, hash128(node)));
    const auto clock = [&] { return true_ns() + kSkew[rank]; };
    BENTO_ASSIGN(found[rank], measure_clock(comm, own, kBase, clock));
    return {};
  });
  for (const auto& result : results) test::require_ok(result);
  for (std::size_t rank = 0; rank < found.size(); ++rank) {
    CAPTURE(rank, found[rank].offset_ns, found[rank].error_ns);
    const std::int64_t wrong = found[rank].offset_ns + kSkew[rank] - kBase;
    CHECK(static_cast<std::uint64_t>(std::abs(wrong)) <= found[rank].error_ns);
    CHECK(found[rank].error_ns < 10 * kSecond);
  }
  CHECK(found[0].error_ns == 0);
  CHECK(found[2].offset_ns == kBase);
  CHECK(found[1].offset_ns == found[3].offset_ns);
  CHECK(found[1].error_ns == found[3].error_ns);
}

}  // namespace bento
