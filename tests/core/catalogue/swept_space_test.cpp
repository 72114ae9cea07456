// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/catalogue/swept_space.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include <catch2/catch_test_macros.hpp>

using namespace bento;

namespace {
constexpr std::uint64_t kLarge = 10u << 20;
constexpr std::uint64_t kPiece = 100'000;
}  // namespace

TEST_CASE("swept space: what a large first commit took is in use", "[core][container]") {
  SweptSpace space;
  space.space().take(kLarge);
  space.committed();
  REQUIRE_FALSE(space.due());
  std::uint64_t taken = 0;
  while (!space.due() && taken <= 2 * kLarge) {
    space.space().take(kPiece);
    taken += kPiece;
    space.committed();
  }
  // Each commit may have replaced as much as it took.
  REQUIRE(taken > kLarge);
  REQUIRE(taken <= kLarge + 2 * kPiece);
}

TEST_CASE("swept space: what an earlier session left is looked at soon", "[core][container]") {
  SweptSpace space(kLarge);
  REQUIRE(space.due());
  space.sweep({{0, kLarge / 2}}, 3);
  REQUIRE_FALSE(space.due());
  space.release(2);
  REQUIRE(space.space().end() == kLarge);
  space.release(3);
  REQUIRE(space.space().end() == kLarge / 2);
}

TEST_CASE("catalogue space: released ranges join holes and each other", "[core][container]") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    // 40 cells of 8 bytes: free, to be released, or in use.
    std::vector<int> cells(40);
    for (auto& cell : cells) cell = static_cast<int>(random() % 3);
    CatalogueSpace space;
    space.take(40 * 8);
    const auto ranges_of = [&](auto wanted) {
      std::vector<CatalogueRange> found;
      for (std::size_t i = 0; i < cells.size(); ++i)
        if (wanted(cells[i])) found.push_back({i * 8, i * 8 + 8});
      return found;
    };
    space.release(ranges_of([](int cell) { return cell == 0; }));
    space.release(ranges_of([](int cell) { return cell == 1; }));
    std::size_t end = cells.size();
    while (end > 0 && cells[end - 1] != 2) --end;
    REQUIRE(space.end() == end * 8);
    std::size_t longest = 0;
    std::size_t run = 0;
    std::size_t free = 0;
    for (std::size_t i = 0; i < end; ++i) {
      run = cells[i] != 2 ? run + 1 : 0;
      if (cells[i] != 2) ++free;
      longest = std::max(longest, run);
    }
    REQUIRE(space.free_bytes() == free * 8);
    if (longest != 0) REQUIRE(space.take(longest * 8) + longest * 8 <= end * 8);
  }
}
