// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Recovery: what is rebuilt, what is reported as lost, and where damage is said to be.
#include "core/offline/recover.hpp"

#include <algorithm>

#include <catch2/catch_test_macros.hpp>

#include "core/offline/offline.hpp"
#include "tests/core/container/container_support.hpp"
#include "tests/core/container/crash_support.hpp"
#include "tests/support/thread_comm.hpp"

namespace bento {
namespace {

using namespace test;

RecoveryReport recovered(const MemoryFileSystem& disk) {
  auto report = recover("box", crash_options(disk.opener()));
  if (!report) FAIL(report.error().text);
  return std::move(*report);
}

/// A closed container after `steps` steps of three ranks.
MemoryFileSystem closed_container(std::uint64_t steps, fti::HashKind hash = fti::HashKind::kXxh3) {
  const MemoryFileSystem disk;
  Life life;
  const Status lived = live(
      {3, steps, true}, true,
      [&](int) {
        ContainerOptions options = crash_options(disk.opener());
        options.stream.hash = hash;
        return options;
      },
      life);
  if (!lived) FAIL(lived.error().text);
  return disk;
}

/// A session that writes one more step and ends without a commit.
void leave_uncommitted(const MemoryFileSystem& disk, int ranks) {
  for (const auto& status : run_ranks(ranks, [&](Communicator& comm) -> Status {
         const std::shared_ptr<Communicator> shared(&comm, [](Communicator*) {});
         BENTO_ASSIGN(auto box, Container::open("box", true, crash_options(disk.opener()), shared));
         BENTO_TRY(carry_out(*box, box->step().number() + 1));
         box->abandon();
         return {};
       }))
    REQUIRE(status);
}

struct Block {
  std::string file;
  std::uint64_t address;
  std::uint64_t header_bytes;
};

std::vector<Block> blocks_of(const MemoryFileSystem& disk) {
  auto box = OfflineContainer::open("box", disk.opener());
  REQUIRE(box);
  std::vector<Block> blocks;
  for (std::uint32_t writer = 0; writer < (*box)->plan().writers(); ++writer) {
    auto place = (*box)->place(writer);
    REQUIRE(place);
    REQUIRE(walk_stream(*place, (*box)->fill(writer), [&](const StreamBlock& block) -> Status {
      blocks.push_back({place->file->path(), place->address(block.position),
                        fti::v11::header_bytes(static_cast<std::uint32_t>(block.vars.size()))});
      return {};
    }));
  }
  return blocks;
}

void damage(const MemoryFileSystem& disk, const std::string& file, std::uint64_t address,
            std::uint64_t bytes, std::byte with) {
  auto content = disk.content(file);
  for (std::uint64_t i = 0; i < bytes; ++i) content[static_cast<std::size_t>(address + i)] ^= with;
  disk.put(file, std::move(content));
}

TEST_CASE("recovery: of a container that needs none", "[core][container][recovery]") {
  const MemoryFileSystem disk = closed_container(3);
  const RecoveryReport report = recovered(disk);
  CHECK(report.step == 3);
  CHECK(report.was_closed);
  CHECK(report.sound());
  CHECK(report.rebuilt.empty());
  CHECK(report.lost.empty());
  CHECK(report.left_over.empty());
  require_whole(disk, 3);
}

TEST_CASE("recovery: says what a dead session had written", "[core][container][recovery]") {
  const MemoryFileSystem disk = closed_container(1);
  leave_uncommitted(disk, 3);
  for (int time = 0; time < 2; ++time) {  // it stays there
    const RecoveryReport report = recovered(disk);
    CHECK(report.step == 1);
    CHECK(report.sound());
    // Each rank's slab; what was small was in memory still.
    REQUIRE(report.lost.size() == 3);
    for (std::uint32_t writer = 0; writer < 3; ++writer) {
      const StreamSpot& lost = report.lost[writer];
      CHECK(lost.writer == writer);
      CHECK(lost.file == "box");
      CHECK(lost.records == 1);
      CHECK(lost.bytes == 72000);
      CHECK(lost.datasets == std::set<DatasetNumber>{0});
    }
    require_whole(disk, 1);
  }
  Life life;
  REQUIRE(live({3, 1, true}, false, [&](int) { return crash_options(disk.opener()); }, life));
  require_whole(disk, 2);
  CHECK(recovered(disk).lost.empty());
}

TEST_CASE("recovery: names a physical file that no step knows", "[core][container][recovery]") {
  const MemoryFileSystem disk = closed_container(1);
  leave_uncommitted(disk, 5);
  const RecoveryReport report = recovered(disk);
  CHECK(report.left_over == std::vector<std::string>{"box.000001"});
  CHECK(report.step == 1);
  require_whole(disk, 1);
}

TEST_CASE("recovery: nothing committed is an error that says so", "[core][container][recovery]") {
  const MemoryFileSystem disk;
  Life life;
  const FaultFileSystem faults(disk.opener());
  faults.add({.nth = 12, .die = true});
  REQUIRE_FALSE(live(
      {3, 1, true}, true, [&](int) { return crash_options(faults.opener()); }, life,
      [&](int) { return faults.dead(); }));
  const auto report = recover("box", crash_options(disk.opener()));
  REQUIRE_FALSE(report);
  CHECK(report.error().code == Code::kNotFound);
  CHECK(report.error().text.find("holds no committed data") != std::string::npos);
}

void rebuild_every_header(fti::HashKind hash) {
  const MemoryFileSystem good = closed_container(4, hash);
  const auto blocks = blocks_of(good);
  REQUIRE(blocks.size() > 12);
  for (const auto& block : blocks)
    for (const std::uint64_t part : {std::uint64_t{4}, std::uint64_t{12}, block.header_bytes}) {
      const MemoryFileSystem disk = copy_of(good);
      damage(disk, block.file, block.address, part, std::byte{0x5A});
      INFO(part << " bytes at " << block.address);
      const RecoveryReport report = recovered(disk);
      REQUIRE(report.rebuilt.size() == 1);
      CHECK(report.rebuilt[0].address == block.address);
      REQUIRE(report.sound());
      require_whole(disk, 4);
    }
}

TEST_CASE("recovery: every block's header can be rebuilt", "[core][container][recovery]") {
  rebuild_every_header(fti::HashKind::kXxh3);
}

TEST_CASE("recovery: every block's header can be rebuilt, MD5",
          "[core][container][recovery][full]") {
  rebuild_every_header(fti::HashKind::kMd5);
}

void damage_headers(std::uint64_t stride) {
  const MemoryFileSystem good = closed_container(2);
  std::uint64_t all = 0;
  std::uint64_t unsound = 0;
  std::uint64_t first = 0;  // another one in each block
  for (const auto& block : blocks_of(good)) {
    for (std::uint64_t at = first; at < block.header_bytes; at += stride) {
      const MemoryFileSystem disk = copy_of(good);
      damage(disk, block.file, block.address + at, 1, std::byte{0xFF});
      INFO("byte " << at << " of the header at " << block.address);
      const RecoveryReport report = recovered(disk);
      REQUIRE(report.beyond_repair.empty());
      // Of a hash that does not fit its data nobody knows which of the two is wrong.
      if (report.sound()) {
        require_whole(disk, 2);
      } else {
        ++unsound;
        REQUIRE_FALSE(report.verdict.findings.empty());
      }
      ++all;
    }
    first = (first + 1) % stride;
  }
  CHECK(unsound * 3 < all);
}

TEST_CASE("recovery: a byte of a header may be wrong", "[core][container][recovery][full]") {
  damage_headers(5);
}

TEST_CASE("recovery: any byte of a header may be wrong", "[core][container][recovery][long]") {
  damage_headers(1);
}

TEST_CASE("recovery: damaged data is named, not hidden", "[core][container][recovery]") {
  const MemoryFileSystem disk = closed_container(2);
  // The newest slab of writer 1.
  auto box = OfflineContainer::open("box", disk.opener());
  REQUIRE(box);
  std::uint64_t address = 0;
  for (std::size_t i = 0; i < (*box)->index().size(0); ++i) {
    const Record record = (*box)->index().record(0, i);
    if (record.where.task == 1) address = (*box)->place(1)->address(record.where.offset) + 777;
  }
  damage(disk, "box", address, 1, std::byte{1});
  const RecoveryReport report = recovered(disk);
  CHECK_FALSE(report.sound());
  REQUIRE(report.verdict.findings.size() == 1);
  const ContainerFinding& found = report.verdict.findings[0];
  CHECK(found.writer == 1);
  CHECK(found.dataset == 0);
  CHECK(found.step == 2);
  CHECK(found.file == "box");
  CHECK(found.address == address - 777);
  CHECK(difference(crash_options(disk.opener()), 2) != "");
}

}  // namespace
}  // namespace bento
