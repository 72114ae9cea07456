// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A recovery that itself ends at each of its writes, syncs and truncates has lost nothing: the
/// step is the same, and the next recovery makes the container whole.
#include <cstdlib>

#include <catch2/catch_test_macros.hpp>

#include "core/offline/recover.hpp"
#include "tests/core/container/container_support.hpp"
#include "tests/core/container/crash_support.hpp"

namespace bento {
namespace {

using namespace test;

struct Remains {
  MemoryFileSystem disk;
  std::uint64_t step = 0;
};

/// What is left of a second session of three ranks and two steps whose processes die at `last`, in
/// the middle of that write. Nothing if it comes to its end before.
std::optional<Remains> remains_of(std::uint64_t last, const ContainerOptions& settings) {
  const auto with = [&](FileOpener opener) {
    ContainerOptions options = settings;
    options.opener = std::move(opener);
    return options;
  };
  Remains left;
  Life life;
  REQUIRE(live({3, 2, true}, true, [&](int) { return with(left.disk.opener()); }, life));
  const FaultFileSystem faults(left.disk.opener());
  faults.add({.nth = last, .die = true, .torn_at = 100});
  (void)live(
      {3, 2, true}, false, [&](int) { return with(faults.opener()); }, life,
      [&](int) { return faults.dead(); });
  if (!faults.dead()) return std::nullopt;
  const auto box =
      Container::open("box", false, crash_options(left.disk.opener()), make_self_communicator());
  REQUIRE(box);
  left.step = (*box)->step().number();
  return left;
}

void check(const MemoryFileSystem& disk, std::uint64_t step) {
  REQUIRE(difference(crash_options(disk.opener()), step) == "");
  const auto report = recover("box", crash_options(disk.opener()));
  if (!report) FAIL(report.error().text);
  REQUIRE(report->step == step);
  REQUIRE(report->sound());
  require_whole(disk, step);
}

/// Recoveries of `left`, each of which ends at another of its changes; returns how many there were.
std::uint64_t die_everywhere(const Remains& left, const ContainerOptions& settings) {
  const bool power = settings.durability == Durability::kPower;
  for (std::uint64_t last = 1;; ++last) {
    bool died = false;
    for (const std::uint64_t how : {std::uint64_t{0}, std::uint64_t{100}, FaultRule::kWhole}) {
      const MemoryFileSystem disk = copy_of(left.disk);
      const FaultFileSystem faults = faults_over(disk);
      faults.add({.nth = last, .die = true, .torn_at = power ? FaultRule::kWhole : how});
      ContainerOptions options = settings;
      options.opener = faults.opener();
      const auto report = recover("box", options);
      died = faults.dead();
      REQUIRE((died || report));
      if (died && power) REQUIRE(faults.power_loss(random_survival(how % 1000 + 1000 * last)));
      INFO("recovery ended at change " << last << ", how " << how);
      check(disk, left.step);
    }
    if (!died) return last - 1;
  }
}

/// Sessions that end at every `stride`-th of their changes; which one is first changes with
/// H5BENTO_TEST_SEED.
void sweep(const ContainerOptions& settings, std::uint64_t stride) {
  const char* const seed = std::getenv("H5BENTO_TEST_SEED");
  std::uint64_t recoveries = 0;
  const std::uint64_t first =
      1 + (seed == nullptr ? 0 : std::strtoull(seed, nullptr, 10) / 1000 % stride);
  for (std::uint64_t last = first;; last += stride) {
    INFO("session ended at change " << last);
    const auto left = remains_of(last, settings);
    if (!left) break;
    recoveries += die_everywhere(*left, settings);
  }
  REQUIRE(recoveries > 100);
}

ContainerOptions synced() {
  ContainerOptions settings = crash_options({});
  settings.durability = Durability::kPower;
  return settings;
}

TEST_CASE("recovery: its process dies at every change, after every sixth of the session",
          "[core][container][recovery][crash][full]") {
  sweep(crash_options({}), 6);
}

TEST_CASE("recovery: power fails at every change, after every sixth of the session",
          "[core][container][recovery][crash][full]") {
  sweep(synced(), 6);
}

TEST_CASE("recovery: its process dies at every change",
          "[core][container][recovery][crash][long]") {
  sweep(crash_options({}), 1);
}

TEST_CASE("recovery: power fails at every change", "[core][container][recovery][crash][long]") {
  sweep(synced(), 1);
}

TEST_CASE("recovery: its process dies at every change, two files, three steps kept",
          "[core][container][recovery][crash][long]") {
  ContainerOptions settings = crash_options({});
  settings.files = 2;
  settings.keep = 3;
  sweep(settings, 2);
}

}  // namespace
}  // namespace bento
