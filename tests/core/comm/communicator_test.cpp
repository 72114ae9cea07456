// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "core/comm/agree.hpp"
#include "core/comm/status_message.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/thread_comm.hpp"

using namespace bento;
using namespace bento::test;
using namespace std::chrono_literals;

namespace {

bento::Bytes payload_of(int rank, std::size_t bytes) {
  return bento::Bytes(bytes, static_cast<std::byte>(rank + 1));
}

}  // namespace

TEST_CASE("communicator: a group of one never waits", "[core][comm]") {
  const auto self = make_self_communicator();
  CHECK(self->rank() == 0);
  CHECK(self->size() == 1);
  CHECK(must(self->gather(payload_of(3, 2))) == std::vector<bento::Bytes>{payload_of(3, 2)});
  CHECK(must(self->broadcast(payload_of(4, 1))) == payload_of(4, 1));
  require_ok(agree(*self, {}));
  const Status mine = fail(Code::kNoSpace, "disk full", ENOSPC);
  const Status agreed = agree(*self, mine);
  require_error(agreed, Code::kNoSpace);
  CHECK(agreed.error().text == "disk full");
}

TEST_CASE("communicator: gather and broadcast between threads, many times over", "[core][comm]") {
  for (const int size : {1, 2, 3, 7, 16}) {
    const auto results = run_ranks(size, [&](Communicator& comm) -> Status {
      for (std::size_t round = 0; round < 50; ++round) {
        const auto mine = payload_of(comm.rank(), round + static_cast<std::size_t>(comm.rank()));
        BENTO_ASSIGN(const auto all, comm.gather(mine));
        if (comm.rank() != 0 && !all.empty())
          return fail(Code::kInternal, "gathered on a rank other than 0");
        for (std::size_t rank = 0; rank < all.size(); ++rank) {
          if (all[rank] != payload_of(static_cast<int>(rank), round + rank))
            return fail(Code::kInternal, fmt::format("wrong bytes of rank {}", rank));
        }
        if (comm.rank() == 0 && all.size() != static_cast<std::size_t>(size))
          return fail(Code::kInternal, "not all gathered");
        BENTO_ASSIGN(const auto bytes, comm.broadcast(mine));
        if (bytes != payload_of(0, round)) return fail(Code::kInternal, "wrong broadcast");
      }
      return {};
    });
    for (const auto& result : results) require_ok(result);
  }
}

TEST_CASE("communicator: all ranks agree on the error of the lowest failing one", "[core][comm]") {
  const auto results = run_ranks(5, [](Communicator& comm) -> Status {
    Status mine;
    if (comm.rank() == 2) mine = fail(os_error(ENOSPC, "write to", "x.sion"));
    if (comm.rank() == 4) mine = fail(Code::kCorrupt, "something else");
    return agree(comm, mine);
  });
  for (std::size_t rank = 0; rank < results.size(); ++rank) {
    INFO("rank " << rank);
    require_error(results[rank], Code::kNoSpace, {"write to 'x.sion' failed"});
    CHECK(results[rank].error().os_errno == ENOSPC);
    CHECK(results[rank].error().text.starts_with("rank 2: ") == (rank != 2));
  }
}

TEST_CASE("communicator: agreement is success when nobody failed", "[core][comm]") {
  for (const auto& result : run_ranks(4, [](Communicator& comm) { return agree(comm, {}); }))
    require_ok(result);
}

TEST_CASE("communicator: a missing rank is named by those who wait for it", "[core][comm]") {
  SECTION("because it has left") {
    const auto begin = std::chrono::steady_clock::now();
    const auto results = run_ranks(
        4,
        [](Communicator& comm) -> Status { return comm.rank() == 2 ? Status{} : agree(comm, {}); },
        20s);
    CHECK(std::chrono::steady_clock::now() - begin < 10s);
    for (const std::size_t rank : {0u, 1u, 3u})
      require_error(results[rank], Code::kPeer, {"rank 2"});
  }
  SECTION("because it does not come in time") {
    const auto results = run_ranks(
        4,
        [](Communicator& comm) -> Status {
          if (comm.rank() == 1 || comm.rank() == 3) std::this_thread::sleep_for(400ms);
          return agree(comm, {});
        },
        100ms);
    require_error(results[0], Code::kPeer, {"ranks 1, 3", "100 ms"});
    // The group is unusable: who comes late is told so, too.
    for (const auto& result : results) require_error(result, Code::kPeer);
  }
  SECTION("when it is the root of a broadcast") {
    const auto results = run_ranks(
        3,
        [](Communicator& comm) -> Status {
          if (comm.rank() == 0) return {};
          BENTO_TRY(comm.broadcast({}));
          return {};
        },
        200ms);
    require_error(results[1], Code::kPeer, {"rank 0"});
    require_error(results[2], Code::kPeer);
  }
}

TEST_CASE("communicator: ranks in different collectives are found out", "[core][comm]") {
  const auto results = run_ranks(2, [](Communicator& comm) -> Status {
    if (comm.rank() == 0) {
      BENTO_TRY(comm.gather({}));
    } else {
      BENTO_TRY(comm.broadcast({}));
    }
    return {};
  });
  CHECK_FALSE((results[0].has_value() && results[1].has_value()));
}

TEST_CASE("communicator: a status message cut short is no success", "[core][comm]") {
  ByteWriter out;
  put_status(out, fail(Code::kBusy, "held by another", EBUSY));
  ByteReader whole(out.view());
  const Status back = get_status(whole);
  require_error(back, Code::kBusy);
  CHECK(back.error().text == "held by another");
  CHECK(back.error().os_errno == EBUSY);
  for (std::size_t length = 0; length < out.size(); ++length) {
    ByteReader part(out.view().first(length));
    require_error(get_status(part), Code::kCorrupt);
  }
}
