// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/pace.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include <catch2/catch_test_macros.hpp>

using namespace bento::transfer;

namespace {

/// A clock that goes on when it is told to.
struct Fake {
  double now = 1000;
  double cpu = 5;
  Pace pace{{[this] { return Seconds(now); }, [this] { return Seconds(cpu); }}};
};

/// Bytes that a minute saw, and the most that 5 seconds of it saw. With `stalls` the disk sleeps
/// for 4 s now and then, and now and then there is a stop.
std::pair<double, double> one_minute(double rate, bool stalls) {
  Fake fake;
  fake.pace.limit(rate, 0);
  fake.pace.begin();
  std::vector<std::pair<double, double>> seen;
  double bytes = 0;
  for (int turn = 1; fake.now < 1060; ++turn) {
    fake.now += std::max(fake.pace.wait().count(), 0.0) + 1e-5;
    if (fake.pace.wait().count() > 0) continue;
    bytes += static_cast<double>(fake.pace.piece());
    fake.pace.copied(fake.pace.piece());
    if (turn % 97 == 0) fake.now += 0.2;
    if (stalls && turn % 211 == 0) fake.now += 4;
    if (stalls && turn % 499 == 0) {
      fake.now += 3;
      fake.pace.begin();
    }
    seen.emplace_back(fake.now, bytes);
  }
  double worst = 0;
  for (std::size_t i = 0, j = 0; j < seen.size(); ++j) {
    while (seen[j].first - seen[i].first > 5) ++i;
    worst = std::max(worst, seen[j].second - seen[i].second);
  }
  return {bytes, worst};
}

}  // namespace

TEST_CASE("pace: bytes per second, on the average and in each window", "[transfer]") {
  for (const double rate : {3e3, 4e6, 50e6}) {
    INFO("rate " << rate);
    const auto [bytes, worst] = one_minute(rate, false);
    CHECK(bytes > 0.97 * 60 * rate);
    CHECK(bytes < 1.02 * 60 * rate + rate);
    CHECK(worst <= 1.2 * 5 * rate);
    CHECK(one_minute(rate, true).second <= 1.2 * 5 * rate);
  }
}

TEST_CASE("pace: a share of a CPU is used, and not more", "[transfer]") {
  Fake fake;
  fake.pace.limit(0, 10);
  fake.pace.begin();
  const double from = fake.now;
  const double used = fake.cpu;
  while (fake.now < from + 20) {
    const double wait = fake.pace.wait().count();
    fake.now += wait + 0.0004;
    fake.cpu += 0.0003;
  }
  const double share = (fake.cpu - used) / (fake.now - from);
  CHECK(share > 0.08);
  CHECK(share < 0.12);
}

TEST_CASE("pace: no limit waits for nothing, whatever the file says", "[transfer]") {
  Fake fake;
  for (const double odd : {0.0, -1.0, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    fake.pace.limit(odd, odd);
    fake.pace.copied(1u << 30);
    CHECK(fake.pace.wait().count() == 0);
  }
  // A tiny rate that is raised does not leave a debt of hours.
  fake.pace.limit(1, 0);
  fake.pace.copied(1000);
  CHECK(fake.pace.wait().count() > 900);
  fake.pace.limit(1e6, 0);
  CHECK(fake.pace.wait().count() < 1);
}
