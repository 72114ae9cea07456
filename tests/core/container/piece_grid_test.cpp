// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/piece_grid.hpp"

#include <map>
#include <random>

#include <catch2/catch_test_macros.hpp>

namespace bento {
namespace {

constexpr std::uint64_t kElement = 8;

/// Adds a source that is all of `box`, with its mapping.
void add(ViewPieces& pieces, const Box& box, std::uint64_t address,
         Encoding encoding = Encoding::kPlain, std::uint64_t stored = 0) {
  ViewSource source;
  source.address = address;
  source.shape = box.count;
  source.bytes = stored != 0 ? stored : box.count.bytes(kElement);
  source.encoding = encoding;
  pieces.mappings.push_back({pieces.sources.size(), Box::whole(box.count), box, 0, 1, 1});
  pieces.sources.push_back(source);
}

TEST_CASE("grid: equal slabs, in any order, are chunks", "[core][view]") {
  ViewPieces pieces;
  for (const std::uint64_t row : {20u, 0u, 10u})
    add(pieces, {{row, 0}, {10, 50}}, 1000 + row * 400);
  const auto grid = view_grid(pieces, {40, 50}, kElement, false);
  REQUIRE(grid);
  CHECK(grid->chunk == Dims{10, 50});
  CHECK(grid->copied.empty());
  REQUIRE(grid->chunks.size() == 3);
  for (const auto& chunk : grid->chunks) {
    CHECK(chunk.address == 1000 + chunk.start[0] * 400);
    CHECK(chunk.bytes == 4000);
    CHECK(chunk.filter_mask == 0);
  }
}

TEST_CASE("grid: slabs of several lengths are cut where chunks stay large", "[core][view]") {
  ViewPieces pieces;
  add(pieces, {{0, 0}, {30, 1000}}, 0);
  add(pieces, {{30, 0}, {50, 1000}}, 1u << 20);
  auto grid = view_grid(pieces, {80, 1000}, kElement, false);
  REQUIRE(grid);
  CHECK(grid->chunk == Dims{10, 1000});
  REQUIRE(grid->chunks.size() == 8);
  CHECK(grid->chunks[4].start == Dims{40, 0});
  CHECK(grid->chunks[4].address == (1u << 20) + 80000);
  // Cut into single rows, they would be of 8000 bytes.
  pieces = {};
  add(pieces, {{0, 0}, {31, 1000}}, 0);
  add(pieces, {{31, 0}, {49, 1000}}, 1u << 20);
  CHECK_FALSE(view_grid(pieces, {80, 1000}, kElement, false));
}

TEST_CASE("grid: pieces of gigabytes are cut into equal parts", "[core][view]") {
  constexpr std::uint64_t kRows = 3u << 20;
  ViewPieces pieces;
  for (std::uint64_t i = 0; i < 4; ++i)
    add(pieces, {{i * kRows, 0}, {kRows, 1024}}, i << 40);  // 24 GiB each
  auto grid = view_grid(pieces, {4 * kRows, 1024}, kElement, false);
  REQUIRE(grid);
  CHECK(grid->chunk == Dims{kRows / 96, 1024});  // 256 MiB
  REQUIRE(grid->chunks.size() == std::size_t{4} * 96);
  CHECK(grid->chunks[97].address == (std::uint64_t{1} << 40) + (256u << 20));
  // A prime number of rows, each larger than what is handy.
  pieces = {};
  for (std::uint64_t i = 0; i < 2; ++i) add(pieces, {{i * 7, 0}, {7, 10u << 20}}, i << 40);
  grid = view_grid(pieces, {14, 10u << 20}, kElement, false);
  REQUIRE(grid);
  CHECK(grid->chunk == Dims{1, 10u << 20});
}

TEST_CASE("grid: bands of columns are cut along the rows only", "[core][view]") {
  ViewPieces pieces;
  add(pieces, {{0, 0}, {64, 500}}, 0);
  add(pieces, {{0, 500}, {64, 500}}, 1u << 20);
  add(pieces, {{64, 0}, {128, 500}}, 2u << 20);
  add(pieces, {{64, 500}, {128, 500}}, 3u << 20);
  const auto grid = view_grid(pieces, {192, 1000}, kElement, false);
  REQUIRE(grid);
  CHECK(grid->chunk == Dims{64, 500});
  CHECK(grid->chunks.size() == 6);
}

TEST_CASE("grid: filtered chunks keep size and mask, and edges are copied", "[core][view]") {
  ViewPieces pieces;
  for (std::uint64_t row = 0; row < 200; row += 10)
    add(pieces, {{row, 0}, {10, 100}}, 5000 + row, Encoding::kFiltered, 77 + row);
  pieces.sources[2].filter_mask = 1;
  add(pieces, {{200, 0}, {3, 100}}, 9000, Encoding::kFiltered, 20);
  add(pieces, {{210, 0}, {10, 100}}, 10000);
  const auto grid = view_grid(pieces, {220, 100}, kElement, true);
  REQUIRE(grid);
  CHECK(grid->chunk == Dims{10, 100});
  REQUIRE(grid->chunks.size() == 20);
  CHECK(grid->chunks[2].bytes == 97);
  CHECK(grid->chunks[2].filter_mask == 1);
  // The last one went through no filter.
  CHECK(grid->copied == std::vector<Box>{{{200, 0}, {10, 100}}, {{210, 0}, {10, 100}}});
}

TEST_CASE("grid: none where much would have to be copied", "[core][view]") {
  ViewPieces pieces;
  add(pieces, {{0}, {100000}}, 0);
  add(pieces, {{100000}, {99999}}, 1u << 20);
  CHECK_FALSE(view_grid(pieces, {199999}, kElement, false));
  SECTION("in other files") {
    pieces = {};
    for (std::uint64_t i = 0; i < 4; ++i) add(pieces, {{i * 10000}, {10000}}, i << 20);
    CHECK(view_grid(pieces, {40000}, kElement, false));
    pieces.sources[1].file = 1;
    CHECK_FALSE(view_grid(pieces, {40000}, kElement, false));
  }
  SECTION("parts of a record") {
    pieces = {};
    for (std::uint64_t i = 0; i < 4; ++i) add(pieces, {{i * 10000}, {10000}}, i << 20);
    pieces.mappings[3] = {3, {{0}, {4000}}, {{30000}, {4000}}, 0, 1, 1};
    CHECK_FALSE(view_grid(pieces, {40000}, kElement, false));
  }
  SECTION("chunks beyond what HDF5 allows") {
    constexpr std::uint64_t kPrime = (1u << 30) + 3;
    pieces = {};
    add(pieces, {{0, 0}, {1, kPrime}}, 0);
    add(pieces, {{1, 0}, {1, kPrime}}, std::uint64_t{1} << 40);
    CHECK_FALSE(view_grid(pieces, {2, kPrime}, kElement, false));
  }
  SECTION("scalars") {
    pieces = {};
    add(pieces, {}, 0);
    CHECK_FALSE(view_grid(pieces, {}, kElement, false));
  }
}

// Whatever the pieces are: each element that one of them shows is in a chunk at the place where it
// lies, or is copied; and nothing else is in a chunk in place.
TEST_CASE("grid: random pieces keep their elements", "[core][view]") {
  std::mt19937 random(20261129);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  unsigned grids = 0;
  for (int round = 0; round < 3000; ++round) {
    const unsigned rank = 1 + static_cast<unsigned>(below(3));
    Dims cell(rank);
    Dims cells(rank);
    Dims extent(rank);
    for (unsigned d = 0; d < rank; ++d) {
      cell[d] = 1 + below(4);
      cells[d] = 1 + below(4);
      extent[d] = cell[d] * cells[d] + below(3);
    }
    ViewPieces pieces;
    std::map<std::uint64_t, std::uint64_t> wanted;  // element -> address
    const Box whole = Box::whole(extent);
    const auto elements = [&](const Box& box, const auto& visit) {
      Dims at = box.start;
      for (std::uint64_t i = 0; i < box.elements(); ++i) {
        visit(row_major_offset(whole, {at, Dims(rank, 1)}), i);
        for (unsigned d = rank; d-- > 0;) {
          if (++at[d] < box.start[d] + box.count[d]) break;
          at[d] = box.start[d];
        }
      }
    };
    std::uint64_t address = 4096;
    const std::uint64_t gone = 1 + below(8);
    for (std::uint64_t n = 0; n < cells.product(); ++n) {
      if (below(gone + 1) == 0) continue;
      Box box{Dims(rank), cell};
      std::uint64_t rest = n;
      for (unsigned d = rank; d-- > 0;) {
        box.start[d] = rest % cells[d] * cell[d];
        rest /= cells[d];
      }
      if (below(20) == 0) box.count[static_cast<unsigned>(below(rank))] = 1;
      add(pieces, box, address);
      elements(box, [&](std::uint64_t element, std::uint64_t i) {
        wanted[element] = address + i * kElement;
      });
      address += box.count.bytes(kElement) + below(3) * kElement;
    }
    const auto grid = view_grid(pieces, extent, kElement, false);
    if (!grid) continue;
    ++grids;
    std::map<std::uint64_t, std::uint64_t> found;
    for (const auto& chunk : grid->chunks) {
      REQUIRE(chunk.bytes == grid->chunk.bytes(kElement));
      for (unsigned d = 0; d < rank; ++d) REQUIRE(chunk.start[d] % grid->chunk[d] == 0);
      elements({chunk.start, grid->chunk}, [&](std::uint64_t element, std::uint64_t i) {
        REQUIRE(found.emplace(element, chunk.address + i * kElement).second);
      });
    }
    for (const auto& [element, where] : found) REQUIRE(wanted.at(element) == where);
    for (const Box& box : grid->copied) {
      REQUIRE(contains(whole, box));
      elements(box, [&](std::uint64_t element, std::uint64_t) {
        REQUIRE(found.emplace(element, 0).second);
      });
    }
    for (const auto& [element, where] : wanted) REQUIRE(found.contains(element));
  }
  CHECK(grids > 1000);
}

}  // namespace
}  // namespace bento
