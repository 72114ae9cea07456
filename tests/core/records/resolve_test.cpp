// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/records/resolve.hpp"

#include <catch2/catch_test_macros.hpp>

#include "tests/support/matchers.hpp"
#include "tests/support/test_memory.hpp"

namespace bento {
namespace {

// To copy candidates at each halving took most of the time of a close with many small records.
TEST_CASE("resolve: what is halved are no copies of the candidates", "[core][index]") {
  const Box selection{Dims{0}, Dims{100}};
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < 20000; ++i)
    candidates.push_back({i, {1, i, 0}, {Dims{10}, Dims{20}}});
  Lookup out;
  QueryBudget budget;
  const test::MemoryWatch memory;
  test::must(resolve_latest(selection, candidates, budget, out));
  CHECK(memory.peak() < candidates.size() * 100);
  REQUIRE(out.pieces.size() == 1);
  CHECK(out.pieces.front().record == 19999);
  CHECK(out.pieces.front().part == Box{Dims{10}, Dims{20}});
  CHECK(out.uncovered.size() == 2);
}

}  // namespace
}  // namespace bento
