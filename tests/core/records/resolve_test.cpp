// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/records/resolve.hpp"

#include <map>
#include <random>

#include <catch2/catch_test_macros.hpp>

#include "tests/support/matchers.hpp"
#include "tests/support/test_memory.hpp"

namespace bento {
namespace {

// To copy candidates at each halving took most of the time of a close with many small records.
TEST_CASE("resolve: what is halved are no copies of the candidates", "[core][index]") {
  const Box selection{Dims{0, 0}, Dims{100, 100}};
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < 20000; ++i)
    candidates.push_back({i, {1, i, 0}, {Dims{10, 10}, Dims{20, 20}}});
  Lookup out;
  QueryBudget budget;
  const test::MemoryWatch memory;
  test::must(resolve_latest(selection, candidates, budget, out));
  CHECK(memory.peak() < candidates.size() * 100);
  REQUIRE(out.pieces.size() == 1);
  CHECK(out.pieces.front().record == 19999);
  CHECK(out.pieces.front().part == Box{Dims{10, 10}, Dims{20, 20}});
  CHECK(out.uncovered.size() == 4);
}

/// Of each element of the selection the record that is seen; each must be in one piece, or in
/// nothing.
std::map<std::uint64_t, std::size_t> by_element(const Box& selection, const Lookup& lookup) {
  constexpr std::size_t kNone = ~std::size_t{0};
  std::map<std::uint64_t, std::size_t> seen;
  const auto note = [&](const Box& part, std::size_t record) {
    CHECK(contains(selection, part));
    for (std::uint64_t i = 0; i < part.elements(); ++i) {
      std::uint64_t rest = i;
      std::uint64_t element = 0;
      for (unsigned d = 0; d < part.rank(); ++d) {
        element = element * 1000 + part.start[d] + rest % part.count[d];
        rest /= part.count[d];
      }
      CHECK(seen.emplace(element, record).second);
    }
  };
  for (const Piece& piece : lookup.pieces) note(piece.part, piece.record);
  for (const Box& box : lookup.uncovered) note(box, kNone);
  return seen;
}

// Records that lie along one dimension are not halved. Put beside them, a record that covers
// nothing of it in the others makes the same question take the other way.
TEST_CASE("resolve: along one dimension as along several", "[core][index]") {
  std::mt19937_64 random(7);  // NOLINT: the same each time
  const auto below = [&](std::uint64_t most) { return random() % most; };
  for (int round = 0; round < 300; ++round) {
    const unsigned rank = 2 + static_cast<unsigned>(below(2));
    const auto along = static_cast<unsigned>(below(rank));
    Box selection{Dims(rank, 3), Dims(rank, 2)};
    selection.count[along] = 20 + below(30);
    std::vector<Candidate> candidates;
    const std::size_t many = 17 + below(40);
    const std::uint64_t longest = 1 + below(12);
    for (std::size_t i = 0; i < many; ++i) {
      Box box{Dims(rank, below(4)), Dims(rank, 10)};
      box.start[along] = below(60);
      box.count[along] = below(longest + 1);
      candidates.push_back({i, {1, below(4), static_cast<std::uint32_t>(below(3))}, box});
    }
    QueryBudget budget;
    Lookup straight;
    test::must(resolve_latest(selection, candidates, budget, straight));
    Box aside = selection;
    for (unsigned d = 0; d < rank; ++d) {
      aside.start[d] += d == along ? 0 : 1;
      aside.count[d] = 1;
    }
    candidates.push_back({many, {0, 0, 0}, aside});  // the oldest of all
    Lookup halved;
    test::must(resolve_latest(selection, candidates, budget, halved));
    auto expected = by_element(selection, halved);
    auto found = by_element(selection, straight);
    CHECK(found.size() == selection.elements());
    for (auto& [element, record] : expected)
      if (record == many) record = ~std::size_t{0};
    CHECK(found == expected);
  }
}

}  // namespace
}  // namespace bento
