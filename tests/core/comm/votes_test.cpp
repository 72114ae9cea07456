// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/comm/votes.hpp"

#include <catch2/catch_test_macros.hpp>

#include "tests/support/matchers.hpp"

using namespace bento;
using namespace bento::test;

namespace {

Votes vote(std::uint32_t rank, std::string text) {
  Votes votes;
  votes.add("question", std::move(text), rank);
  return votes;
}

Votes through_bytes(const Votes& votes) {
  ByteWriter out;
  votes.encode(out);
  ByteReader in(out.view());
  return must(Votes::decode(in));
}

}  // namespace

TEST_CASE("votes: equal answers are counted, the lowest ranks are named", "[core][comm]") {
  Votes all = vote(0, "yes");
  for (std::uint32_t rank = 1; rank < 100; ++rank)
    all.merge(through_bytes(vote(rank, rank == 2 ? "no" : "yes")));
  const Votes copy = through_bytes(all);
  const auto answers = copy.answers("question");
  REQUIRE(answers.size() == 2);
  CHECK(answers[0].text == "yes");
  CHECK(answers[0].ranks == 99);
  CHECK(name_ranks(answers[0]) == "ranks 0, 1, 3, 4, 5 and 94 more");
  CHECK(name_ranks(answers[1]) == "rank 2");
  CHECK(all.answers("other").empty());
}

TEST_CASE("votes: the size does not grow with the number of answers", "[core][comm]") {
  Votes all = vote(0, "0");
  for (std::uint32_t rank = 1; rank < 1000; ++rank) all.merge(vote(rank, std::to_string(rank)));
  CHECK(all.answers("question").size() == Votes::kAnswers);
  CHECK(name_ranks(all.answers("question")[3]) == "rank 3");
}

TEST_CASE("votes: bytes that are none are an error", "[core][comm]") {
  ByteWriter out;
  vote(3, "yes").encode(out);
  for (std::size_t length = 0; length < out.size(); ++length) {
    ByteReader in(out.view().subspan(0, length));
    CHECK_FALSE(Votes::decode(in));
  }
}
