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
