// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/stream/container_step.hpp"

#include <array>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "core/stream/block_reuse.hpp"

using namespace bento;

TEST_CASE("container step: comes back, or as a later one", "[core][stream]") {
  constexpr std::uint64_t kRemainders = (1u << 24) - 1;
  fti::v11::DbVar var;
  CHECK_FALSE(step_of(var, 1000));
  for (const std::uint64_t step : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{255},
                                   std::uint64_t{70'000}, kRemainders - 1, kRemainders}) {
    set_step(var, step);
    CHECK(step_of(var, step) == step);
    CHECK(step_of(var, step + kRemainders - 1) == step);
    CHECK(step_of(var, step + kRemainders) == step + kRemainders);
  }
  // A step that the newest root does not know is no step.
  set_step(var, 12);
  CHECK_FALSE(step_of(var, 11));
}

TEST_CASE("block reuse: blocks of earlier sessions wait for the steps that need them",
          "[core][stream]") {
  BlockReuse reuse;
  reuse.add_dead({0, {0, 100'000}}, 5);
  reuse.add_dead({200'000, {0, 100'000}}, 7);
  reuse.release(4);
  CHECK_FALSE(reuse.take_large(100'000));
  reuse.release(6);
  const auto first = reuse.take_large(100'000);
  REQUIRE(first);
  CHECK(first->position == 0);
  CHECK_FALSE(reuse.take_large(100'000));
  reuse.release(7);
  CHECK(reuse.take_large(100'000)->position == 200'000);
}

TEST_CASE("block reuse: a block is free when all of its own records are dead", "[core][stream]") {
  BlockReuse reuse;
  const auto commit = [&](DatasetNumber dataset, Position at, std::uint64_t step) {
    Record record;
    record.dataset = dataset;
    record.box = {Dims{0}, Dims{10}};
    record.where.offset = at;
    reuse.record_committed(record, step);
  };
  const std::vector<std::uint64_t> capacities{100, 50};
  reuse.note_written({1000, capacities}, std::array<Position, 2>{1200, 1300});
  reuse.note_written({5000, capacities}, std::array<Position, 2>{5200, 5300});
  // Of earlier sessions: in front of these blocks, between them and behind them.
  const std::vector<Position> others{0, 999, 1350, 4999, 5350, 100'000};
  for (DatasetNumber i = 0; i < others.size(); ++i) commit(10 + i, others[i], 1);
  commit(1, 1200, 1);
  commit(2, 1300, 1);
  for (DatasetNumber i = 0; i < others.size(); ++i) commit(10 + i, 200'000, 2);
  commit(1, 5200, 2);
  reuse.release(2);
  CHECK_FALSE(reuse.take_small(capacities));
  commit(2, 5300, 3);
  reuse.release(2);
  CHECK_FALSE(reuse.take_small(capacities));
  reuse.release(3);
  const auto free = reuse.take_small(capacities);
  REQUIRE(free);
  CHECK(free->position == 1000);
  CHECK_FALSE(reuse.take_small(capacities));
}
