// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/live_views.hpp"

#include <chrono>

#include <catch2/catch_test_macros.hpp>

using bento::CatalogueRange;
using bento::LiveViews;
using std::chrono::seconds;

namespace {

std::size_t ranges(const LiveViews& views) {
  std::vector<CatalogueRange> used;
  views.add_ranges(used);
  return used.size();
}

}  // namespace

TEST_CASE("live views: an older view stays for the grace time after a newer one") {
  LiveViews views(10);
  const LiveViews::Clock::time_point begin{};
  CHECK_FALSE(views.oldest_step());
  views.publish(3, {{0, 8}}, begin);
  // The newest is in use as long as there is no newer one.
  views.forget_old(begin + seconds(1000), false);
  CHECK(views.oldest_step() == 3);
  views.publish(5, {{8, 16}, {24, 32}}, begin + seconds(1000));
  CHECK(ranges(views) == 3);
  CHECK_FALSE(views.any_old(begin + seconds(1010)));
  CHECK(views.any_old(begin + seconds(1011)));
  views.forget_old(begin + seconds(1010), false);
  CHECK(views.oldest_step() == 3);
  views.forget_old(begin + seconds(1011), false);
  CHECK(views.oldest_step() == 5);
  CHECK(ranges(views) == 2);
}

TEST_CASE("live views: with a reader's lock it stays ten times as long, and not for ever") {
  LiveViews views(10);
  const LiveViews::Clock::time_point begin{};
  views.publish(1, {{0, 8}}, begin);
  views.publish(2, {{8, 16}}, begin);
  views.publish(3, {{16, 24}}, begin + seconds(50));
  views.forget_old(begin + seconds(100), true);
  CHECK(views.oldest_step() == 1);
  views.forget_old(begin + seconds(101), true);
  CHECK(views.oldest_step() == 2);
  views.forget_old(begin + seconds(151), true);
  CHECK(views.oldest_step() == 3);
}

TEST_CASE("live views: sessions pass them on until their time is over") {
  const LiveViews::Clock::time_point begin{};
  constexpr std::uint64_t kSecond = 1'000'000'000;
  std::uint64_t now_ns = 1'000 * kSecond;
  std::vector<bento::EarlierView> passed;
  // A session a second, each with one view; views are kept for 16 seconds.
  for (std::uint64_t step = 1; step <= 100; ++step, now_ns += kSecond) {
    LiveViews views(16);
    for (const auto& view : passed)
      views.recall(view.step, view.ranges, begin,
                   std::chrono::nanoseconds(now_ns - view.followed_ns));
    views.forget_old(begin, false);
    views.publish(step, {{8 * step, 8 * step + 8}}, begin);
    passed = views.passed_on(begin, now_ns);
    REQUIRE(passed.size() <= 18);
    CHECK(views.oldest_step() == (step <= 17 ? 1 : step - 16));
  }
  // What came together is passed on together, its places joined.
  LiveViews views(16);
  views.publish(1, {{0, 8}, {16, 24}}, begin);
  views.publish(2, {{8, 16}}, begin);
  passed = views.passed_on(begin, now_ns);
  REQUIRE(passed.size() == 1);
  CHECK(passed[0] == bento::EarlierView{1, now_ns, {{0, 24}}});
}
