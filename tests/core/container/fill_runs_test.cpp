// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/fill_runs.hpp"

#include <catch2/catch_test_macros.hpp>

#include "tests/support/matchers.hpp"

using namespace bento;
using namespace bento::test;

TEST_CASE("fill runs: each rank gets its own, and equal neighbours cost nothing",
          "[core][container]") {
  auto plan = must(ContainerPlan::make(1000, 1, 4096));
  plan.set_chunk_bytes(1u << 20);
  require_ok(plan.add({10, 1, 1u << 20, 0}));  // the ranks 0 to 9 went on in a new file
  std::vector<ChunkFill> fills(1010, ChunkFill{4096, 100});
  CHECK(encode_fill_runs(fills).size() < 16);
  fills[7] = {};
  fills[1007] = {1u << 20, 5};
  const Bytes message = encode_fill_runs(fills);
  CHECK(message.size() < 64);
  SECTION("as many ranks as before") {
    CHECK(own_writers(plan, 7, 1000) == std::vector<std::uint32_t>{7, 1007});
    const auto own = must(decode_own_fills(message, plan, 7, 1000));
    REQUIRE(own.size() == 2);
    CHECK(own.at(7).empty());
    CHECK(own.at(1007) == fills[1007]);
  }
  SECTION("fewer: every stream is somebody's") {
    std::size_t all = 0;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      const auto own = must(decode_own_fills(message, plan, rank, 3));
      all += own.size();
      for (const auto& [writer, fill] : own) {
        CHECK(fill == fills[writer]);
        CHECK(plan.rank_of_writer(writer) % 3 == rank);
      }
    }
    CHECK(all == fills.size());
  }
  SECTION("more: the new ones have none") {
    CHECK(must(decode_own_fills(message, plan, 1500, 2000)).empty());
  }
  SECTION("what cannot be") {
    for (std::size_t length = 1; length < message.size(); ++length) {
      const auto cut = decode_own_fills(std::span(message).first(length), plan, 0, 1000);
      if (cut) CHECK(cut->size() <= 2);
    }
    ByteWriter out;
    out.varint(1);
    out.varint(1);
    out.varint((1u << 20) + 1);
    CHECK_FALSE(decode_own_fills(out.view(), plan, 0, 1000));
  }
}

TEST_CASE("fill runs: groups go there and back", "[core][container]") {
  const std::vector<FileGroup> groups = {{10, 2, 1u << 20, 0}, {3, 0, 1u << 20, 10}};
  ByteWriter out;
  put_groups(out, groups);
  ByteReader in(out.view(), std::endian::little, "groups");
  CHECK(must(get_groups(in)) == groups);
}
