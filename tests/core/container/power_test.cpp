// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Single promises of durability=power, and of what a session leaves to the next one.
#include <catch2/catch_test_macros.hpp>

#include "core/catalogue/sion_view.hpp"
#include "core/layout/holder.hpp"
#include "core/offline/verify_streams.hpp"
#include "tests/core/container/container_support.hpp"
#include "tests/core/container/crash_support.hpp"
#include "tests/support/fault_file.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/thread_comm.hpp"

namespace bento {
namespace {

using namespace test;

Status on_ranks(int ranks, const std::function<Status(std::shared_ptr<Communicator>)>& body) {
  for (const auto& status : run_ranks(ranks, [&](Communicator& comm) {
         return body(std::shared_ptr<Communicator>(&comm, [](Communicator*) {}));
       }))
    BENTO_TRY(status);
  return {};
}

ContainerOptions power_options(FileOpener opener) {
  ContainerOptions options = crash_options(std::move(opener));
  options.durability = Durability::kPower;
  return options;
}

std::string note_of(const MemoryFileSystem& disk) {
  auto file = disk.open("box", OpenMode::kRead);
  REQUIRE(file);
  return read_holder_note(**file);
}

}  // namespace

// The layout is fixed by all ranks; who writes META1 of a file may have nothing else to write.
TEST_CASE("power: META1 of a file in which nobody has written", "[core][container][power]") {
  const MemoryFileSystem disk;
  const FaultFileSystem faults = faults_over(disk);
  ContainerOptions options = power_options(faults.opener());
  options.files = 2;
  REQUIRE(on_ranks(4, [&](const std::shared_ptr<Communicator>& comm) -> Status {
    BENTO_ASSIGN(auto box, Container::create("box", false, options, comm));
    box->note_collective("declare", {});
    box->declare({}, 8, 1, 0);
    box->declared(1u << 20);
    if (comm->rank() == 0) BENTO_TRY(box->write(0, {Dims{0}, Dims{2}}, 8, bytes_of({1, 2})));
    BENTO_TRY(box->commit());
    box->abandon();
    return {};
  }));
  REQUIRE(faults.power_loss());
  auto opened =
      Container::open("box", false, crash_options(disk.opener()), make_self_communicator());
  INFO((opened ? std::string() : opened.error().text));
  REQUIRE(opened);
  CHECK((*opened)->step().number() == 1);
}

// The system tells the error of a sync once; what was to be kept is as lost at the next commit.
TEST_CASE("power: a sync that failed fails every later commit", "[core][container][power]") {
  for (const int sick : {0, 1}) {
    for (std::uint64_t nth = 1; nth <= 3; ++nth) {
      CAPTURE(sick, nth);
      const MemoryFileSystem disk;
      const FaultFileSystem faults = faults_over(disk);
      bool met = false;
      REQUIRE(on_ranks(2, [&](const std::shared_ptr<Communicator>& comm) -> Status {
        const bool mine = comm->rank() == sick;
        BENTO_ASSIGN(auto box, Container::create(
                                   "box", false,
                                   power_options(mine ? faults.opener() : disk.opener()), comm));
        if (comm->rank() == 0) box->skeleton().write(0, skeleton_bytes(1));
        box->note_collective("declare", {});
        box->declare({}, 8, 2, 0);
        BENTO_TRY(write_step(*box, 0, 1));
        BENTO_TRY(box->commit());
        BENTO_TRY(write_step(*box, 0, 2));
        if (mine) faults.add({.on = FaultOn::kSync, .nth = nth});
        Status done = box->commit();
        if (done) {  // so many syncs are not made
          box->abandon();
          return {};
        }
        if (mine) faults.clear_rules();
        if (mine) met = true;
        for (int again = 0; again < 2; ++again) {
          BENTO_TRY(write_step(*box, 0, 3));
          done = box->commit();
          if (done) return fail(Code::kInternal, "a commit after a failed sync succeeded");
          if (done.error().text.find("open the file again") == std::string::npos)
            return fail(Code::kInternal, "not said: " + done.error().text);
        }
        done = box->close();
        if (done) return fail(Code::kInternal, "a close after a failed sync succeeded");
        return {};
      }));
      CHECK((met || nth > 1));
    }
  }
}

// The note says that streams are to be marked: it must not go before the marks are on the device.
TEST_CASE("power: the holder's note outlives unmarked streams", "[core][container][power]") {
  MemoryFileSystem start;
  Life life;
  REQUIRE(live({3, 2, true}, true, [&](int) { return power_options(start.opener()); }, life));
  const MemoryFileSystem disk = copy_of(start);
  const FaultFileSystem faults = faults_over(disk);
  Life later;
  REQUIRE(live({3, 2, true}, false, [&](int) { return power_options(faults.opener()); }, later));
  // Of what was not synced, the last thing that was done survives: the cleared note.
  REQUIRE(faults.power_loss(
      [](const Unsynced& part) { return part.last ? FaultRule::kWhole : std::uint64_t{0}; }));
  REQUIRE(difference(crash_options(disk.opener()), 4) == "");
  if (note_of(disk).empty()) require_whole(disk, 4);
}

// Who comes after a killed session finishes its streams, or leaves the note for the next.
TEST_CASE("holder: a session that writes nothing after a killed one", "[core][container]") {
  const MemoryFileSystem start;
  Life life;
  REQUIRE(live({3, 2, true}, true, [&](int) { return crash_options(start.opener()); }, life));
  for (std::uint64_t nth = 1;; ++nth) {
    CAPTURE(nth);
    const MemoryFileSystem disk = copy_of(start);
    const FaultFileSystem faults = faults_over(disk);
    faults.add({.nth = nth, .die = true});
    Life killed;
    const Status lived = live(
        {3, 2, true}, false, [&](int) { return crash_options(faults.opener()); }, killed,
        [&](int) { return faults.dead(); });
    if (lived) break;
    std::uint64_t step = 0;
    REQUIRE(on_ranks(2, [&](const std::shared_ptr<Communicator>& comm) -> Status {
      BENTO_ASSIGN(auto box, Container::open("box", true, crash_options(disk.opener()), comm));
      if (comm->rank() == 0) step = box->step().number();
      return box->close();
    }));
    if (note_of(disk).empty()) require_whole(disk, step);
  }
}

// Ranks write as soon as they know the layout, whether META1 is there yet or not.
TEST_CASE("sion view: setting up META1 keeps to the first task's chunk", "[core][container]") {
  const auto plan = ContainerPlan::of(std::vector<FileGroup>{{4000, 4, 16u << 10}}, 4096).value();
  const MemoryFileSystem disk;
  auto file = disk.open("box", OpenMode::kCreate).value();
  const FilePlan& part = plan.file(0);
  const std::uint64_t second = part.address(1, 0);
  const std::vector<std::byte> data(1u << 20, std::byte{0xAB});
  REQUIRE(file->write_at(second, data));
  REQUIRE(file->write_at(part.data_start(), std::vector<std::byte>(16u << 10, std::byte{1})));
  REQUIRE(write_unfinished_sion(*file, plan, 0, "box"));
  std::vector<std::byte> found(data.size());
  REQUIRE(file->read_at(second, found));
  CHECK((found == data));
  // What of the provisional META2 lies in the first chunk is gone.
  std::vector<std::byte> cleared(16u << 10);
  REQUIRE(file->read_at(part.data_start(), cleared));
  CHECK((cleared == std::vector<std::byte>(16u << 10)));
}

// A dbvar's distance to its data has 32 bits: a block of small records has a bound, whatever the
// buffer and the chunk.
TEST_CASE("stream: small records share blocks of at most so many bytes", "[core][container]") {
  const MemoryFileSystem disk;
  ContainerOptions options = small_options(disk.opener());
  options.chunk_bytes = 8u << 20;
  options.stream.buffer_bytes = 4u << 20;
  options.stream.block_bytes = 100000;
  auto box = Container::create("box", false, options, make_self_communicator()).value();
  const std::uint64_t records = 40;
  box->declare({}, 8, 2, 0);
  std::vector<std::uint64_t> row(5000);
  for (std::uint64_t i = 0; i < records; ++i) {
    std::fill(row.begin(), row.end(), i + 1);
    // In an order in which no two continue each other.
    const std::uint64_t at = i * 7 % records;
    REQUIRE(box->write(0, {Dims{at, 0}, Dims{1, 5000}}, 8, bytes_of(row)));
  }
  REQUIRE(box->close());
  auto again =
      Container::open("box", false, small_options(disk.opener()), make_self_communicator()).value();
  const auto found = again->find(0, Box::whole(Dims{records, 5000}));
  REQUIRE(found);
  for (const auto& record : found->records) CHECK(record.header_distance < 100000);
  const auto verdict = verify_streams("box", disk.opener());
  REQUIRE(verdict);
  CHECK(verdict->sound());
}

}  // namespace bento
