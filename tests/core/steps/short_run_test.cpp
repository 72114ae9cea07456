// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/short_run.hpp"

#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "core/steps/record_run.hpp"
#include "tests/core/steps/step_support.hpp"

namespace bento {
namespace {

using namespace step_test;

using Rows = std::vector<std::vector<std::uint64_t>>;

constexpr RowShape kShape{2, 8};

/// Of a grid of blocks, as that many ranks write it.
RecordRun grid_run(const Dims& extent, const Dims& grid, std::uint64_t records) {
  RecordRun run;
  for (std::uint64_t i = 0; i < records; ++i) {
    Row row{};
    REQUIRE(to_row(kShape,
                   record_of(0, grid_box(Cut::kFirstLarger, extent, grid, i),
                             static_cast<std::uint32_t>(i), 1),
                   row));
    const auto columns = std::span<const std::uint64_t>(row).first(kShape.width());
    if (i == 0)
      run = RecordRun(kShape.width(), columns);
    else
      run.push(columns);
  }
  return run;
}

std::vector<std::byte> encoded(const RecordRun& run) {
  ByteWriter out;
  run.encode(out);
  return std::move(out).take();
}

Rows rows_of(const RecordRun& run) {
  Rows rows;
  run.for_each(
      [&](std::span<const std::uint64_t> row) { rows.emplace_back(row.begin(), row.end()); });
  return rows;
}

TEST_CASE("short run: shows the rows that a run of records shows", "[core][index][step]") {
  unsigned taken = 0;
  for (std::uint64_t records = 1; records <= 32; ++records) {
    const RecordRun run = grid_run(Dims{70, 3}, Dims{32, 1}, records);
    auto bytes = encoded(run);
    bytes.push_back(std::byte{7});  // what follows it is left alone
    ByteReader in(bytes);
    ShortRun brief;
    REQUIRE(brief.decode(in, kShape.width()));
    ++taken;
    CHECK(in.remaining() == 1);
    CHECK(brief.records() == records);
    Rows rows;
    CHECK(brief.all_of([&](std::span<const std::uint64_t> row) {
      rows.emplace_back(row.begin(), row.end());
      return true;
    }));
    CHECK(rows == rows_of(run));
  }
  CHECK(taken == 32);
}

TEST_CASE("short run: stops where it is told to", "[core][index][step]") {
  const auto bytes = encoded(grid_run(Dims{70, 3}, Dims{32, 1}, 20));
  ByteReader in(bytes);
  ShortRun brief;
  REQUIRE(brief.decode(in, kShape.width()));
  unsigned seen = 0;
  CHECK_FALSE(brief.all_of([&](std::span<const std::uint64_t>) { return ++seen < 5; }));
  CHECK(seen == 5);
}

TEST_CASE("short run: leaves longer runs and loops to others", "[core][index][step]") {
  for (const RecordRun& run : {grid_run(Dims{70, 30}, Dims{8, 8}, 24),  // rows and columns: a loop
                               grid_run(Dims{70, 3}, Dims{64, 1}, 33)}) {  // one more than it takes
    const auto bytes = encoded(run);
    ByteReader in(bytes);
    ShortRun brief;
    CHECK_FALSE(brief.decode(in, kShape.width()));
    CHECK(in.offset() == 0);
    CHECK(RecordRun::decode(in, kShape.width()));
  }
}

TEST_CASE("short run: what is cut off is none", "[core][index][step]") {
  const auto bytes = encoded(grid_run(Dims{70, 3}, Dims{32, 1}, 20));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    ByteReader in(std::span<const std::byte>(bytes).first(length));
    ShortRun brief;
    CHECK_FALSE(brief.decode(in, kShape.width()));
    CHECK(in.offset() == 0);
    CHECK_FALSE(RecordRun::decode(in, kShape.width()));
  }
}

TEST_CASE("short run: what no run of records is, is none", "[core][index][step]") {
  const auto made = [](std::initializer_list<std::uint64_t> tail) {
    ByteWriter out;
    for (unsigned f = 0; f < kShape.width(); ++f) out.varint(0);
    for (const auto value : tail) out.varint(value);
    return std::move(out).take();
  };
  // One difference, whose two bytes say that no field differs; then the tokens.
  for (const auto& bytes : {made({0, 1, 2, 0}),                   // repeats nothing
                            made({1, 0, 0, 1, 0, 0}),             // no times
                            made({1, 0, 0, 1, 2, 1}),             // a difference that is not there
                            made({1, 0, 0, 1, ~0ull - 1, 0})}) {  // too many records
    ByteReader in(bytes);
    ShortRun brief;
    CHECK_FALSE(brief.decode(in, kShape.width()));
    CHECK_FALSE(RecordRun::decode(in, kShape.width()));
  }
}

}  // namespace
}  // namespace bento
