// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/record_run.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "core/base/scratch_memory.hpp"
#include "core/steps/run_view.hpp"
#include "tests/core/steps/step_support.hpp"

namespace bento {
namespace {

using namespace step_test;

std::vector<std::vector<std::uint64_t>> rows_of(const RecordRun& run) {
  std::vector<std::vector<std::uint64_t>> rows;
  run.for_each(
      [&](std::span<const std::uint64_t> row) { rows.emplace_back(row.begin(), row.end()); });
  return rows;
}

RecordRun encoded_and_back(const RecordRun& run) {
  ByteWriter out;
  run.encode(out);
  REQUIRE(out.size() == run.encoded_bytes());
  ByteReader in(out.view());
  auto back = RecordRun::decode(in, run.width());
  REQUIRE(back);
  REQUIRE(in.remaining() == 0);
  return std::move(*back);
}

RecordRun grid_run(Cut cut, const Dims& extent, const Dims& grid, std::uint64_t first,
                   std::uint64_t last) {
  const RowShape shape{extent.rank(), 8};
  RecordRun run;
  for (std::uint64_t r = first; r < last; ++r) {
    Row row;
    REQUIRE(to_row(shape,
                   record_of(0, grid_box(cut, extent, grid, r), static_cast<std::uint32_t>(r), 3),
                   row));
    if (r == first)
      run = RecordRun(shape.width(), row);
    else
      run.push(row);
  }
  return run;
}

/// As ranks do it: halves of halves, joined.
RecordRun tree_run(Cut cut, const Dims& extent, const Dims& grid, std::uint64_t first,
                   std::uint64_t last) {
  if (last - first == 1) return grid_run(cut, extent, grid, first, last);
  std::uint64_t half = 1;
  while (2 * half < last - first) half *= 2;
  RecordRun run = tree_run(cut, extent, grid, first, first + half);
  run.append(tree_run(cut, extent, grid, first + half, last));
  return run;
}

TEST_CASE("record run: a copy of one that lies in a turn's memory outlives the turn",
          "[core][index][step]") {
  const std::array<std::uint64_t, 3> first{1, 2, 3};
  RecordRun written(3, first);
  for (std::uint64_t i = 1; i < 200; ++i)
    written.push(std::array<std::uint64_t, 3>{i * i, 2 * i, i % 7});
  ByteWriter out;
  written.encode(out);
  const auto rows = rows_of(written);

  ScratchMemory scratch;
  std::vector<RecordRun> copies;
  for (int turn = 0; turn < 3; ++turn) {
    ByteReader in(out.view());
    auto run = RecordRun::decode(in, 3, scratch.turn());
    REQUIRE(run);
    REQUIRE(rows_of(*run) == rows);
    copies.push_back(*run);
  }
  std::ranges::fill_n(static_cast<std::byte*>(scratch.turn()->allocate(8192)), 8192,
                      std::byte{0xFF});
  for (const RecordRun& copy : copies) REQUIRE(rows_of(copy) == rows);
}

TEST_CASE("record run: any rows come back, pushed or joined", "[core][index][step]") {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    const auto width = static_cast<unsigned>(1 + below(random, 12));
    const std::uint64_t symbols = 1 + below(random, 4);
    std::vector<std::vector<std::uint64_t>> deltas(symbols, std::vector<std::uint64_t>(width));
    for (auto& delta : deltas)
      for (auto& value : delta) value = below(random, 3) == 0 ? random() : below(random, 3);
    std::vector<std::vector<std::uint64_t>> rows(1, std::vector<std::uint64_t>(width, 5));
    const std::uint64_t count = 1 + below(random, 200);
    while (rows.size() < count) {
      const auto& delta = deltas[below(random, symbols)];
      for (std::uint64_t n = 1 + below(random, 4); n > 0 && rows.size() < count; --n) {
        rows.push_back(rows.back());
        for (unsigned f = 0; f < width; ++f) rows.back()[f] += delta[f];
      }
    }
    RecordRun run(width, rows.front());
    std::size_t at = 1;
    while (at < rows.size()) {
      if (below(random, 2) == 0) {
        run.push(rows[at++]);
        continue;
      }
      RecordRun next(width, rows[at++]);
      for (std::uint64_t n = below(random, 30); n > 0 && at < rows.size(); --n)
        next.push(rows[at++]);
      run.append(encoded_and_back(next));
    }
    REQUIRE(run.records() == rows.size());
    REQUIRE(rows_of(run) == rows);
    REQUIRE(rows_of(encoded_and_back(run)) == rows);
    REQUIRE(std::ranges::equal(run.last(), rows.back()));
  }
}

TEST_CASE("record run: one record is encoded as a run of one is", "[core][index][step]") {
  Random random(9);
  for (unsigned rank = 0; rank <= kMaxRank; ++rank) {
    std::vector<std::uint64_t> row(2 * rank + kFields);
    for (auto& value : row) value = random() >> below(random, 64);
    ByteWriter alone;
    RecordRun::encode_one(alone, row);
    ByteWriter as_run;
    RecordRun(static_cast<unsigned>(row.size()), row).encode(as_run);
    REQUIRE(std::ranges::equal(alone.view(), as_run.view()));
    ByteReader in(alone.view());
    const auto back = RecordRun::decode(in, static_cast<unsigned>(row.size()));
    REQUIRE(back);
    REQUIRE(in.remaining() == 0);
    REQUIRE(back->records() == 1);
    REQUIRE(std::ranges::equal(back->first(), row));
    REQUIRE(std::ranges::equal(back->last(), row));
  }
}

TEST_CASE("record run: slabs and blocks are few tokens whatever the number of ranks",
          "[core][index][step]") {
  struct Case {
    Cut cut;
    Dims extent;
    Dims grid;
    std::size_t tokens;
  };
  const std::vector<Case> cases = {
      {Cut::kFirstLarger, Dims{16000}, Dims{1000}, 2},
      {Cut::kFirstLarger, Dims{16333}, Dims{1000}, 4},
      {Cut::kFloor, Dims{16333}, Dims{1000}, 16},
      {Cut::kLastSmaller, Dims{15999}, Dims{1000}, 3},
      {Cut::kFirstLarger, Dims{120, 160, 80}, Dims{12, 16, 10}, 11},
      {Cut::kFirstLarger, Dims{125, 165, 83}, Dims{12, 16, 10}, 74},
      {Cut::kLastSmaller, Dims{119, 159, 79}, Dims{12, 16, 10}, 40},
  };
  for (const auto& one : cases) {
    const RecordRun run = tree_run(one.cut, one.extent, one.grid, 0, one.grid.product());
    CAPTURE(one.extent[0], one.grid.product(), run.tokens());
    REQUIRE(run.tokens() <= one.tokens);
    const auto view = RunView::make(encoded_and_back(run), one.extent.rank());
    REQUIRE(view);
    REQUIRE(view->bounds() == Box::whole(one.extent));
    REQUIRE(view->volume() == one.extent.product());
    QueryBudget budget{10000};
    REQUIRE(view->apart(RunView::Overlap::kNone, budget));
  }
}

TEST_CASE("run view: a selection finds what going through all records finds",
          "[core][index][step]") {
  Random random(2);
  for (int round = 0; round < 400; ++round) {
    const auto rank = static_cast<unsigned>(1 + below(random, 3));
    Dims grid(rank);
    Dims extent(rank);
    for (unsigned d = 0; d < rank; ++d) {
      grid[d] = 1 + below(random, 6);
      extent[d] = grid[d] * (2 + below(random, 4)) + below(random, grid[d]);
    }
    const auto cut = static_cast<Cut>(below(random, 2));
    const std::uint64_t ranks = grid.product();
    const std::uint64_t first = below(random, ranks);
    RecordRun run = tree_run(cut, extent, grid, first, first + 1 + below(random, ranks - first));
    if (below(random, 3) == 0) run.append(tree_run(cut, extent, grid, 0, ranks));  // overlaps
    const auto view = RunView::make(run, rank);
    REQUIRE(view);
    Box selection{Dims(rank), Dims(rank)};
    for (unsigned d = 0; d < rank; ++d) {
      selection.start[d] = below(random, extent[d]);
      selection.count[d] = 1 + below(random, extent[d]);
    }
    std::vector<std::pair<std::uint64_t, std::vector<std::uint64_t>>> want;
    std::uint64_t ordinal = 0;
    std::vector<Box> boxes;
    for (const auto& row : rows_of(run)) {
      const std::span<const std::uint64_t> all(row);
      const Box box{Dims(all.first(rank)), Dims(all.subspan(rank, rank))};
      if (overlaps(box, selection)) want.emplace_back(ordinal, row);
      boxes.push_back(box);
      ++ordinal;
    }
    std::vector<std::pair<std::uint64_t, std::vector<std::uint64_t>>> found;
    QueryBudget budget;
    REQUIRE(view->find(selection, budget, [&](std::uint64_t at, auto row) -> Status {
      found.emplace_back(at, std::vector<std::uint64_t>(row.begin(), row.end()));
      return {};
    }));
    REQUIRE(found == want);
    bool apart = true;
    for (std::size_t i = 0; i < boxes.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) apart = apart && !overlaps(boxes[i], boxes[j]);
    REQUIRE(view->apart(RunView::Overlap::kNone, budget) == apart);
  }
}

TEST_CASE("run view: what arithmetic says of any nested run is what its boxes say",
          "[core][index][step]") {
  Random random(3);
  std::size_t disjoint = 0;
  std::size_t looped = 0;
  for (int round = 0; round < 4000; ++round) {
    const auto rank = static_cast<unsigned>(1 + below(random, 2));
    const RowShape shape{rank, 8};
    // A loop nest with a few differences that may also change the size of the boxes.
    std::vector<Row> deltas(1 + below(random, 3));
    for (auto& delta : deltas) {
      delta.fill(0);
      const auto moved = static_cast<unsigned>(below(random, rank));
      delta[moved] = below(random, 12) - below(random, 4);
      if (below(random, 3) == 0) delta[rank - 1 - moved] += below(random, 5) - 2;
      if (below(random, 6) == 0) delta[rank + moved] = below(random, 3) - 1;
    }
    std::vector<std::size_t> pattern(1 + below(random, 5));
    for (auto& one : pattern) one = below(random, deltas.size());
    const std::uint64_t inner = 1 + below(random, 4);
    Row row{};
    for (unsigned d = 0; d < rank; ++d) {
      row[d] = 1000;
      row[rank + d] = 1 + below(random, 3);
    }
    RecordRun run(shape.width(), row);
    std::vector<Row> rows{row};
    const std::uint64_t records = 2 + below(random, 40);
    for (std::uint64_t i = 0; rows.size() < records; ++i) {
      const auto& delta = deltas[pattern[i / inner % pattern.size()]];
      Row next = row;
      bool sound = true;
      for (unsigned f = 0; f < shape.width(); ++f) next[f] += delta[f];
      for (unsigned d = 0; d < rank; ++d)
        sound = sound && next[rank + d] >= 1 && next[rank + d] < 100;
      if (!sound) break;
      row = next;
      rows.push_back(row);
      run.push(row);
    }
    if (run.tokens() > 1 && run.tokens() < rows.size() / 2) ++looped;
    const auto view = RunView::make(run, rank);
    REQUIRE(view);
    const auto box = [&](const Row& of) {
      const std::span<const std::uint64_t> all(of);
      return Box{Dims(all.first(rank)), Dims(all.subspan(rank, rank))};
    };
    bool apart = true;
    std::uint64_t volume = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      volume += box(rows[i]).elements();
      for (std::size_t j = 0; j < i; ++j) apart = apart && !overlaps(box(rows[i]), box(rows[j]));
    }
    QueryBudget budget;
    REQUIRE(view->apart(RunView::Overlap::kNone, budget) == apart);
    if (view->volume() != 0) REQUIRE(view->volume() == volume);
    if (apart) ++disjoint;
    Box selection{Dims(rank), Dims(rank)};
    for (unsigned d = 0; d < rank; ++d) {
      selection.start[d] = 980 + below(random, 80);
      selection.count[d] = 1 + below(random, 30);
    }
    std::vector<std::uint64_t> want;
    std::vector<std::uint64_t> found;
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (overlaps(box(rows[i]), selection)) want.push_back(i);
    REQUIRE(view->find(selection, budget, [&](std::uint64_t at, auto there) -> Status {
      found.push_back(at);
      REQUIRE(std::ranges::equal(there, std::span(rows[at]).first(shape.width())));
      return {};
    }));
    REQUIRE(found == want);
  }
  REQUIRE(disjoint > 200);
  REQUIRE(looped > 200);
}

TEST_CASE("run view: block-cyclic rows are known to be disjoint", "[core][index][step]") {
  // Rank r of 100 writes rows r, r + 100, ..., 50 of them.
  const RowShape shape{2, 8};
  RecordRun run;
  for (std::uint32_t rank = 0; rank < 100; ++rank)
    for (std::uint64_t i = 0; i < 50; ++i) {
      Record record = record_of(0, {Dims{rank + 100 * i, 0}, Dims{1, 64}}, rank, 3);
      record.where.offset += i * 512;
      Row row;
      REQUIRE(to_row(shape, record, row));
      if (rank == 0 && i == 0)
        run = RecordRun(shape.width(), row);
      else
        run.push(row);
    }
  REQUIRE(run.tokens() <= 6);
  const auto view = RunView::make(run, 2);
  REQUIRE(view);
  QueryBudget budget{100};
  REQUIRE(view->apart(RunView::Overlap::kNone, budget));
  REQUIRE(budget.visits == 100);
}

TEST_CASE("run view: a million blocks are asked without going through them",
          "[core][index][step]") {
  // 1000 x 1000 blocks of 4 x 4, built from one row of blocks, so that the test is quick.
  const Dims extent{4000, 4000};
  const Dims grid{1000, 1000};
  RecordRun run = grid_run(Cut::kFirstLarger, extent, grid, 0, 1000);
  for (std::uint64_t i = 1; i < 1000; ++i)
    run.append(grid_run(Cut::kFirstLarger, extent, grid, i * 1000, i * 1000 + 3));
  // Those rows of blocks are cut short: still a regular run.
  const auto view = RunView::make(run, 2);
  REQUIRE(view);
  QueryBudget budget{2000};
  std::uint64_t hits = 0;
  REQUIRE(view->find({Dims{2000, 0}, Dims{8, 12}}, budget, [&](std::uint64_t, auto) -> Status {
    ++hits;
    return {};
  }));
  REQUIRE(hits == 6);
  REQUIRE(budget.visits > 1900);
}

TEST_CASE("record run: hostile counts are refused", "[core][index][step]") {
  const auto decode = [](const ByteWriter& out) {
    ByteReader in(out.view());
    return RecordRun::decode(in, 1);
  };
  const auto head = [](ByteWriter& out) {
    out.varint(0);  // first row
    out.varint(1);  // one difference
    out.u8(1);
    out.varint(2);
  };
  SECTION("too many records") {
    ByteWriter out;
    head(out);
    out.varint(1);
    out.varint(kMaxRunRecords << 2);
    out.varint(0);
    REQUIRE_FALSE(decode(out));
  }
  SECTION("a product that wraps") {
    ByteWriter out;
    head(out);
    for (int i = 0; i < 2; ++i) {
      out.varint(1);
      out.varint((1ull << 33) | 1);
    }
    out.varint(1);
    out.varint(1ull << 33);
    out.varint(0);
    REQUIRE_FALSE(decode(out));
  }
  SECTION("loops in loops in loops") {
    ByteWriter out;
    head(out);
    for (unsigned i = 0; i < 100000; ++i) {
      out.varint(1);
      out.varint(3);
    }
    REQUIRE_FALSE(decode(out));
  }
  SECTION("a difference that is not there") {
    ByteWriter out;
    head(out);
    out.varint(1);
    out.varint(2);
    out.varint(1);
    REQUIRE_FALSE(decode(out));
  }
  SECTION("more differences than bytes") {
    ByteWriter out;
    out.varint(0);
    out.varint(1ull << 60);
    REQUIRE_FALSE(decode(out));
  }
  SECTION("a box that leaves the space") {
    RecordRun run;
    Row row{};
    row[0] = 1ull << 62;
    row[1] = 1;
    run = RecordRun(RowShape{1, 1}.width(), row);
    for (int i = 0; i < 2; ++i) {
      row[0] += 1ull << 61;
      run.push(row);
    }
    REQUIRE(run.tokens() == 2);
    REQUIRE_FALSE(RunView::make(run, 1));
  }
}

}  // namespace
}  // namespace bento
