// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A program of three ranks, four steps and overwrites ends at each of its writes, syncs and
/// truncates, in its first session and in a later one, because its processes die or because the
/// power fails. What is then read is the last step whose commit returned, or the one under way, and
/// nothing else; the container can be completed and written again.
#include <chrono>
#include <set>

#include <catch2/catch_test_macros.hpp>

#include "core/offline/recover.hpp"
#include "tests/core/container/container_support.hpp"
#include "tests/core/container/crash_support.hpp"
#include "tests/core/container/fake_view.hpp"

namespace bento {
namespace {

using namespace test;

struct Sweep {
  Durability durability = Durability::kProcess;
  std::uint32_t files = 1;
  std::uint64_t keep = 1;
  std::vector<CrashSession> sessions{{3, 4}, {3, 2}};
  std::vector<std::uint64_t> torn{0, 100, FaultRule::kWhole};  ///< death of processes
  std::uint64_t seeds = 4;                                     ///< loss of power
  std::uint64_t stride = 1;                                    ///< every so many changes
  std::uint64_t view_pages = 0;                                ///< of the view of each close
};

ContainerOptions options_of(const Sweep& sweep, FileOpener opener) {
  ContainerOptions options = crash_options(std::move(opener));
  options.files = sweep.files;
  options.keep = sweep.keep;
  options.durability = sweep.durability;
  return options;
}

/// The absolute step a container holds now; none if it says, clearly, that it holds none.
std::optional<std::uint64_t> step_of(const MemoryFileSystem& disk) {
  auto box = Container::open("box", false, crash_options(disk.opener()), make_self_communicator());
  if (box) return (*box)->step().number();
  INFO(box.error().text);
  const bool no_data = box.error().text.find("holds no committed data") != std::string::npos;
  const bool no_container =
      box.error().text.find("holds no valid h5bento root") != std::string::npos;
  const bool no_file = box.error().code == Code::kNotFound;
  REQUIRE((no_data || no_container || no_file));
  return std::nullopt;
}

void check_kept_steps(const Sweep& sweep, const MemoryFileSystem& disk, std::uint64_t newest) {
  if (sweep.keep == 1) return;
  for (std::uint64_t step = 1; step <= newest; ++step) {
    INFO("as of step " << step << " of " << newest);
    ContainerOptions options = crash_options(disk.opener());
    options.step = AbsoluteStep{step};
    if (sweep.keep == 0 || step + sweep.keep > newest) {
      REQUIRE(difference(options, step) == "");
    } else {
      REQUIRE_FALSE(Container::open("box", false, options, make_self_communicator()));
    }
  }
}

Status write_on(const Sweep& sweep, const MemoryFileSystem& disk, const CrashSession& session,
                bool first) {
  Life life;
  return live(session, first, [&](int) { return options_of(sweep, disk.opener()); }, life);
}

/// What stock HDF5 sees is whole: nothing, or the view of one of the steps `wanted`.
void check_view(const Sweep& sweep, const MemoryFileSystem& disk,
                const std::set<std::uint64_t>& wanted) {
  if (sweep.view_pages == 0) return;
  const SeenView view = look_at_view(disk);
  REQUIRE(view.wrong == "");
  INFO("a view of step " << view.step);
  REQUIRE(wanted.contains(view.id ? view.step : 0));
}

/// Everything that must hold when a program is gone of which `life` is known.
void check_remains(const Sweep& sweep, const MemoryFileSystem& disk, bool first, const Life& life,
                   std::uint64_t closed_before, std::set<std::uint64_t>& seen) {
  const auto found = step_of(disk);
  if (found) check_view(sweep, disk, {closed_before, *found});
  if (!found) {
    REQUIRE(first);
    REQUIRE(life.committed == 0);
    seen.insert(0);
    // Nothing is in the way of starting again.
    const Status again = write_on(sweep, disk, {2, 1, true}, true);
    INFO((again ? std::string() : again.error().text));
    REQUIRE(again);
    require_whole(disk, 1);
    return;
  }
  INFO("found step " << *found << ", committed " << life.committed << ", attempted "
                     << life.attempted);
  REQUIRE(*found >= life.committed);
  REQUIRE(*found <= std::max(life.committed.load(), life.attempted.load()));
  seen.insert(*found);
  REQUIRE(difference(crash_options(disk.opener()), *found) == "");
  check_kept_steps(sweep, disk, *found);

  // Recovered by one process, it is whole again; and goes on with another number of ranks.
  const ViewBuilder view = sweep.view_pages == 0 ? ViewBuilder{} : fake_view(sweep.view_pages);
  const auto report = recover("box", options_of(sweep, disk.opener()), view);
  if (!report) FAIL(report.error().text);
  REQUIRE(report->step == *found);
  REQUIRE(report->sound());
  require_whole(disk, *found);
  check_view(sweep, disk, {*found});
  check_kept_steps(sweep, disk, *found);
  const Status again =
      write_on(sweep, disk, {*found % 2 == 0 ? 4 : 2, 1, true, sweep.view_pages}, false);
  INFO((again ? std::string() : again.error().text));
  REQUIRE(again);
  require_whole(disk, *found + 1);
  check_view(sweep, disk, {*found + 1});
}

/// What a power loss leaves. Our own roots stand any tear. A superblock that stock programs read
/// has no second copy: it relies on a device that writes 512 bytes whole or not at all.
Survives survival(const Sweep& sweep, std::uint64_t seed) {
  const Survives dice = random_survival(seed);
  if (sweep.view_pages == 0) return dice;
  return [dice](const Unsynced& part) -> std::uint64_t {
    constexpr std::uint64_t kWhole = 512;
    const std::uint64_t kept = dice(part);
    const bool one_piece = part.kind == Unsynced::Kind::kWrite && part.bytes != 0 &&
                           part.offset / kWhole == (part.offset + part.bytes - 1) / kWhole;
    return one_piece && kept < part.bytes ? 0 : kept;
  };
}

/// One life that ends at change `last`; how much of that change arrives, or what of the unsynced
/// ones survives, says `how`.
void die_at(const Sweep& sweep, const MemoryFileSystem& start, const CrashSession& session,
            bool first, std::uint64_t last, std::uint64_t how, std::set<std::uint64_t>& seen) {
  const MemoryFileSystem disk = copy_of(start);
  const FaultFileSystem faults = faults_over(disk);
  const bool power = sweep.durability == Durability::kPower;
  faults.add({.nth = last, .die = true, .torn_at = power ? FaultRule::kWhole : how});
  Life life;
  if (!first) {
    life.committed = *step_of(start);
    life.attempted = life.committed.load();
  }
  (void)live(
      session, first, [&](int) { return options_of(sweep, faults.opener()); }, life,
      [&](int) { return faults.dead(); });
  if (power) REQUIRE(faults.power_loss(survival(sweep, how < 2 ? how : how + 1000 * last)));
  INFO((power ? "power lost" : "processes died")
       << " at change " << last << ", " << (power ? "seed " : "bytes of it written: ") << how);
  const std::uint64_t closed = first ? 0 : *step_of(start);
  check_remains(sweep, disk, first, life, closed, seen);
}

void run_sweep(const Sweep& sweep) {
  const MemoryFileSystem disk;
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < sweep.sessions.size(); ++i) {
    CrashSession session = sweep.sessions[i];
    session.view_pages = sweep.view_pages;
    const bool first = i == 0;
    const MemoryFileSystem whole = copy_of(disk);
    const FaultFileSystem counter(whole.opener());
    Life life;
    const Status lived =
        live(session, first, [&](int) { return options_of(sweep, counter.opener()); }, life);
    INFO("session " << i << (lived ? std::string() : lived.error().text));
    REQUIRE(lived);
    REQUIRE(life.committed == before + session.steps);
    require_whole(whole, before + session.steps);
    const std::uint64_t changes = counter.counts().changes();
    REQUIRE(changes > 20);

    std::set<std::uint64_t> seen;
    for (std::uint64_t last = 1; last <= changes; last += sweep.stride) {
      if (sweep.durability == Durability::kPower) {
        for (std::uint64_t seed = 0; seed < sweep.seeds; ++seed)
          die_at(sweep, disk, session, first, last, seed, seen);
      } else {
        for (const auto torn : sweep.torn) die_at(sweep, disk, session, first, last, torn, seen);
      }
    }
    // Each step was the last one for some death: none is there by chance only.
    std::set<std::uint64_t> wanted;
    for (std::uint64_t step = before; step <= before + session.steps; ++step) wanted.insert(step);
    if (sweep.stride == 1) REQUIRE(seen == wanted);
    for (const auto& name : whole.names()) disk.put(name, whole.content(name));
    before += session.steps;
  }
}

TEST_CASE("crash: processes die at every change", "[core][container][crash][full]") {
  run_sweep({.sessions = {{3, 4}, {3, 2}}});
}

TEST_CASE("crash: processes die at every change, other numbers of ranks",
          "[core][container][crash][long]") {
  run_sweep({.sessions = {{3, 1}, {5, 3}, {2, 3}}});
}

TEST_CASE("crash: processes die at every change, two files", "[core][container][crash][long]") {
  run_sweep({.files = 2, .sessions = {{3, 3}, {4, 2}}});
}

TEST_CASE("crash: processes die, three steps are kept", "[core][container][crash][full]") {
  run_sweep({.keep = 3, .sessions = {{3, 4}, {2, 3}}, .torn = {100}});
}

TEST_CASE("crash: power fails at every change", "[core][container][crash][full]") {
  run_sweep({.durability = Durability::kPower, .sessions = {{3, 4}, {3, 2}}, .seeds = 3});
}

TEST_CASE("crash: power fails, other numbers of ranks, two files",
          "[core][container][crash][long]") {
  run_sweep({.durability = Durability::kPower, .sessions = {{3, 1}, {5, 3}, {2, 3}}});
  run_sweep({.durability = Durability::kPower, .files = 2, .sessions = {{3, 3}, {4, 2}}});
}

TEST_CASE("crash: power fails, three steps are kept", "[core][container][crash][long]") {
  run_sweep({.durability = Durability::kPower, .keep = 3, .sessions = {{3, 4}, {2, 3}}});
}

TEST_CASE("crash: power fails, many ways to survive", "[core][container][crash][long]") {
  run_sweep({.durability = Durability::kPower, .sessions = {{3, 4}, {3, 4}}, .seeds = 64});
  run_sweep({.durability = Durability::kPower,
             .files = 2,
             .keep = 3,
             .sessions = {{3, 4}, {5, 2}, {2, 2}},
             .seeds = 32});
}

// Superblocks of several files and the closed root change one after the other.
TEST_CASE("crash: a close with view, two files", "[core][container][crash][full]") {
  run_sweep(
      {.files = 2, .sessions = {{3, 1}, {3, 1}}, .torn = {100}, .stride = 2, .view_pages = 5});
}

TEST_CASE("crash: a close with view, power fails, two files", "[core][container][crash][full]") {
  run_sweep({.durability = Durability::kPower,
             .files = 2,
             .sessions = {{3, 1}, {3, 1}},
             .seeds = 2,
             .stride = 3,
             .view_pages = 5});
}

TEST_CASE("crash: closes with view, at every change", "[core][container][crash][long]") {
  for (const std::uint32_t files : {1u, 2u}) {
    run_sweep({.files = files, .keep = 3, .sessions = {{3, 2}, {4, 2}, {2, 2}}, .view_pages = 40});
    run_sweep({.durability = Durability::kPower,
               .files = files,
               .keep = 3,
               .sessions = {{3, 2}, {4, 2}, {2, 2}},
               .seeds = 16,
               .view_pages = 40});
  }
}

// Ranks of one program seldom die in the same moment: the others go on until they need the dead
// one.
TEST_CASE("crash: one rank dies at every change, the others notice", "[core][container][crash]") {
  const Sweep sweep;
  std::set<std::uint64_t> seen;
  for (int mortal = 0; mortal < 3; ++mortal)
    for (std::uint64_t last = 1;; ++last) {
      const MemoryFileSystem disk;
      const FaultFileSystem faults(disk.opener());
      faults.add({.nth = last, .die = true, .torn_at = 100});
      Life life;
      (void)live(
          {3, 4}, true,
          [&](int rank) {
            return options_of(sweep, rank == mortal ? faults.opener() : disk.opener());
          },
          life, [&](int rank) { return rank == mortal && faults.dead(); });
      INFO("rank " << mortal << " died at its change " << last);
      check_remains(sweep, disk, true, life, 0, seen);
      if (!faults.dead()) break;
    }
  REQUIRE(seen == std::set<std::uint64_t>{0, 1, 2, 3, 4});
}

}  // namespace
}  // namespace bento
