// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Every byte changed, every length cut, every write the last one: what is read afterwards is right
/// or an error.
#include <algorithm>
#include <set>

#include <catch2/catch_test_macros.hpp>

#include "core/container/container.hpp"
#include "tests/core/container/container_support.hpp"
#include "tests/support/fault_file.hpp"
#include "tests/support/memory_file.hpp"

namespace bento {
namespace {

using namespace test;

std::shared_ptr<Communicator> alone() {
  return make_self_communicator();
}

Status write_small(const ContainerOptions& options, std::uint64_t steps) {
  BENTO_ASSIGN(auto container, Container::create("box", false, options, alone()));
  const DatasetNumber dataset = container->declare({}, 8, 2, 0);
  for (std::uint64_t step = 1; step <= steps; ++step) {
    BENTO_TRY(write_step(*container, dataset, step));
    if (step < steps) BENTO_TRY(container->commit());
  }
  return container->close();
}

/// True if the container reads as `step`, false if it is refused with an error; anything else fails
/// the test.
bool reads_as(const FileOpener& opener, std::uint64_t step) {
  auto container = Container::open("box", false, small_options(opener), alone());
  if (!container) return false;
  const auto values = read_all(**container, 0);
  if (!values) return false;
  REQUIRE((*container)->step().number() == step);
  REQUIRE(skeleton_is(**container, step));
  REQUIRE(*values == whole_values(step));
  return true;
}

TEST_CASE("damage: any changed byte gives an error or the right data", "[core][container][full]") {
  const MemoryFileSystem disk;
  REQUIRE(write_small(small_options(disk.opener()), 1));
  const auto good = disk.content("box");
  REQUIRE(reads_as(disk.opener(), 1));
  std::uint64_t refused = 0;
  std::uint64_t harmless = 0;
  for (std::size_t page = 0; page < good.size(); page += kPageBytes) {
    const auto end = std::min(page + kPageBytes, good.size());
    // Of a page of zeros (a hole) a few bytes stand for all.
    const bool hole = std::all_of(good.begin() + static_cast<std::ptrdiff_t>(page),
                                  good.begin() + static_cast<std::ptrdiff_t>(end),
                                  [](std::byte b) { return b == std::byte{0}; });
    for (std::size_t at = page; at < end; at += hole ? 1001 : 1) {
      auto bad = good;
      bad[at] ^= std::byte{0xFF};
      disk.put("box", bad);
      ++(reads_as(disk.opener(), 1) ? harmless : refused);
    }
  }
  // Roots are kept twice and holes mean nothing, but data, pages and tables must have been missed.
  CHECK(refused > 9000 + kRows * kColumns * 8);
  CHECK(harmless > 0);
}

TEST_CASE("damage: any shorter file gives an error or the right data", "[core][container]") {
  const MemoryFileSystem disk;
  REQUIRE(write_small(small_options(disk.opener()), 1));
  const auto good = disk.content("box");
  for (std::size_t length = 0; length < good.size();
       length += length % kPageBytes < 64 ? 1u : 97u) {
    disk.put("box", {good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length)});
    (void)reads_as(disk.opener(), 1);
  }
  disk.put("box", {good.begin(), good.begin() + 20000});
  CHECK_FALSE(reads_as(disk.opener(), 1));
}

TEST_CASE("damage: a program that dies at any write leaves its last committed step",
          "[core][container]") {
  // How many changes a whole run makes.
  const MemoryFileSystem counted;
  const FaultFileSystem counter(counted.opener());
  REQUIRE(write_small(small_options(counter.opener()), 4));
  const std::uint64_t changes = counter.counts().changes();
  REQUIRE(changes > 20);

  std::set<std::uint64_t> steps_seen;
  for (std::uint64_t last = 1; last <= changes; ++last)
    for (const std::uint64_t torn : {std::uint64_t{0}, std::uint64_t{100}}) {
      const MemoryFileSystem disk;
      const FaultFileSystem faulty(disk.opener());
      faulty.add({.on = FaultOn::kChange, .nth = last, .die = true, .torn_at = torn});
      std::uint64_t committed = 0;
      auto container = Container::create("box", false, small_options(faulty.opener()), alone());
      if (container) {
        const DatasetNumber dataset = (*container)->declare({}, 8, 2, 0);
        for (std::uint64_t step = 1; step <= 4; ++step) {
          if (!write_step(**container, dataset, step)) break;
          if (!(step < 4 ? (*container)->commit() : (*container)->close())) break;
          committed = step;
        }
      }
      INFO("died at change " << last << " of " << changes << ", " << torn
                             << " bytes of it written");
      auto again = Container::open("box", false, small_options(disk.opener()), alone());
      if (!again) {
        REQUIRE(committed ==
                0);  // before the first commit there is nothing to read, and it says so
        continue;
      }
      // The root may be in place although the program did not live to hear of it.
      const std::uint64_t found = (*again)->step().number();
      REQUIRE((found == committed || found == committed + 1));
      steps_seen.insert(found);
      const auto values = read_all(**again, 0);
      REQUIRE(values);
      REQUIRE(*values == whole_values(found));
      REQUIRE(skeleton_is(**again, found));
    }
  REQUIRE(steps_seen == std::set<std::uint64_t>{1, 2, 3, 4});
}

}  // namespace
}  // namespace bento
