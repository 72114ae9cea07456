// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Writes of ranks on different nodes that are closer than their clocks are known.
#include "core/steps/uncertain_order.hpp"

#include <catch2/catch_test_macros.hpp>

#include "tests/core/steps/step_support.hpp"
#include "tests/support/matchers.hpp"

namespace bento {
namespace {

using namespace step_test;
using test::require_ok;

constexpr DatasetNumber kDataset = 3;

/// Of two nodes with two ranks each; the second one's clock is known to 100 ns.
const std::vector<ClockRun> kClocks = {{0, 2, 0, 0}, {2, 2, 1, 100}};

UncertainOrders of(const std::vector<Record>& records,
                   const std::vector<ClockRun>& clocks = kClocks) {
  std::vector<std::byte> all;
  for (const Record& record : records) {
    ContributionBuilder::Options options;
    options.exact_times = {kDataset};
    ContributionBuilder builder(options);
    require_ok(builder.add(record, 8));
    const auto more = builder.encode();
    if (all.empty()) {
      all = more;
      continue;
    }
    auto merged = merge_contributions(all, more);
    require_ok(merged);
    all = std::move(*merged);
  }
  const auto parts = parse_contribution(all);
  require_ok(parts);
  REQUIRE(parts->size() == 1);
  REQUIRE(parts->front().exact_times);
  auto found = find_uncertain_order(parts->front(), clocks);
  require_ok(found);
  return *found;
}

Record write(std::uint32_t rank, std::uint64_t begin, std::uint64_t end, std::uint64_t time_ns,
             std::uint64_t collective = 5) {
  return record_of(kDataset, {Dims{begin}, Dims{end - begin}}, rank, collective, time_ns);
}

}  // namespace

TEST_CASE("uncertain order: writes of two nodes that are closer than their clocks are known",
          "[core][steps]") {
  const auto found = of({write(0, 0, 10, 1000), write(2, 8, 20, 950)});
  CHECK(found.all);
  REQUIRE(found.pairs.size() == 1);
  CHECK(found.pairs[0].earlier == 2);
  CHECK(found.pairs[0].later == 0);
  CHECK(found.pairs[0].apart_ns == 50);
  CHECK(found.pairs[0].doubt_ns == 100);
  CHECK(found.pairs[0].element == Dims{8});
}

TEST_CASE("uncertain order: nothing to say", "[core][steps]") {
  CHECK(of({write(0, 0, 10, 1000), write(2, 8, 20, 899)}).pairs.empty());      // far enough apart
  CHECK(of({write(0, 0, 10, 1000), write(2, 10, 20, 1000)}).pairs.empty());    // other elements
  CHECK(of({write(0, 0, 10, 1000), write(1, 8, 20, 1000)}).pairs.empty());     // one node
  CHECK(of({write(0, 0, 10, 1000), write(2, 8, 20, 1000, 6)}).pairs.empty());  // ordered
}

TEST_CASE("uncertain order: of each two ranks the closest writes", "[core][steps]") {
  const auto found = of(
      {write(0, 0, 10, 1000), write(0, 10, 20, 1060), write(2, 8, 20, 1070), write(3, 0, 4, 1100)});
  REQUIRE(found.pairs.size() == 2);
  CHECK(found.pairs[0].apart_ns == 10);
  CHECK(found.pairs[0].element == Dims{10});
  CHECK(found.pairs[1].later == 3);
}

TEST_CASE("uncertain order: a rank without a clock is no rank", "[core][steps]") {
  ContributionBuilder builder({.exact_times = {kDataset}});
  require_ok(builder.add(write(7, 0, 1, 1), 8));
  const auto bytes = builder.encode();
  const auto parts = parse_contribution(bytes);
  require_ok(parts);
  const auto found = find_uncertain_order(parts->front(), kClocks);
  REQUIRE_FALSE(found);
  CHECK(found.error().code == Code::kCorrupt);
}

}  // namespace bento
