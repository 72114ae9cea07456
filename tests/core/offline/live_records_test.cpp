// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/offline/live_records.hpp"

#include <algorithm>
#include <map>
#include <random>

#include <catch2/catch_test_macros.hpp>

namespace bento {
namespace {

Record record_of(const Box& box, std::uint64_t collective, std::uint64_t time) {
  Record record;
  record.box = box;
  record.order = {collective, time, 0};
  return record;
}

/// The same by painting every element.
std::vector<bool> painted(const Index& index, const std::vector<ExtentEvent>& clips) {
  std::map<std::vector<std::uint64_t>, std::size_t> top;
  for (std::size_t i = 0; i < index.size(0); ++i) {
    const Record record = index.record(0, i);
    Box box = record.box;
    for (const auto& event : clips)
      if (record.order.collective < event.collective)
        box = intersect(box, Box::whole(event.extent));
    if (box.empty()) continue;
    std::vector<std::uint64_t> at(box.start.view().begin(), box.start.view().end());
    for (;;) {
      const auto found = top.find(at);
      if (found == top.end()) {
        top[at] = i;
      } else {
        const Order before = index.record(0, found->second).order;
        if (before < record.order || before == record.order) found->second = i;
      }
      unsigned d = box.rank();
      while (d > 0 && ++at[d - 1] == box.start[d - 1] + box.count[d - 1]) {
        at[d - 1] = box.start[d - 1];
        --d;
      }
      if (d == 0) break;
    }
  }
  std::vector<bool> live(index.size(0), false);
  for (const auto& [place, record] : top) live[record] = true;
  return live;
}

}  // namespace

TEST_CASE("live records: as painted element by element", "[core][index]") {
  std::mt19937_64 random(7);
  std::size_t dead = 0;
  for (int round = 0; round < 150; ++round) {
    const auto rank = static_cast<unsigned>(1 + random() % 3);
    const std::uint64_t side = 3 + random() % 12;
    const std::uint64_t largest = 1 + random() % side;
    Index index;
    index.declare({0, {}, 8, rank, 0});
    std::vector<ExtentEvent> clips;
    for (std::uint64_t i = 0, count = random() % 80; i < count; ++i) {
      Box box = Box::whole(Dims(std::vector<std::uint64_t>(rank, 1)));
      for (unsigned d = 0; d < rank; ++d) {
        box.start[d] = random() % side;
        box.count[d] = 1 + random() % largest;
      }
      REQUIRE(index.add(record_of(box, random() % 4, random() % 8)));
    }
    if (random() % 2 == 0) {
      std::vector<std::uint64_t> extent(rank);
      for (auto& length : extent) length = random() % (side + 1);
      clips.push_back({0, 1 + random() % 4, Dims(extent)});
      REQUIRE(index.clip(clips.back()));
    }
    const auto live = live_records(index, 0);
    REQUIRE(live);
    CHECK(*live == painted(index, clips));
    for (const bool one : *live) dead += !one;
  }
  CHECK(dead > 500);
}

TEST_CASE("live records: of a scalar's the newest", "[core][index]") {
  Index index;
  index.declare({0, {}, 8, 0, 0});
  CHECK(live_records(index, 0)->empty());
  for (const std::uint64_t time : {3u, 9u, 4u})
    REQUIRE(index.add(record_of(Box{Dims{}, Dims{}}, 0, time)));
  CHECK(*live_records(index, 0) == std::vector<bool>{false, true, false});
  CHECK_FALSE(live_records(index, 1));
}

TEST_CASE("live records: a million disjoint ones, and a thousand steps of one decomposition",
          "[core][index][full]") {
  Index grid;
  grid.declare({0, {}, 8, 2, 0});
  for (std::uint64_t i = 0; i < 1'000'000; ++i)
    REQUIRE(grid.add(record_of({Dims{i / 1000 * 4, i % 1000 * 8}, Dims{4, 8}}, 0, i)));
  const auto all = live_records(grid, 0);
  REQUIRE(all);
  CHECK(std::find(all->begin(), all->end(), false) == all->end());

  Index steps;
  steps.declare({0, {}, 8, 1, 0});
  for (std::uint64_t step = 0; step < 1000; ++step)
    for (std::uint64_t rank = 0; rank < 1000; ++rank)
      REQUIRE(steps.add(record_of({Dims{rank * 10}, Dims{10}}, step, rank)));
  const auto last = live_records(steps, 0);
  REQUIRE(last);
  for (std::size_t i = 0; i < last->size(); ++i)
    if ((*last)[i] != (i >= 999'000)) FAIL("record " << i);
}

}  // namespace bento
