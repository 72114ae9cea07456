// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Two ranks, as threads, of which one is ahead of the other at a known place.
#include <chrono>
#include <thread>

#include <catch2/catch_test_macros.hpp>

#include "tests/core/container/container_support.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/thread_comm.hpp"

namespace bento {
namespace {

using namespace test;

constexpr std::uint64_t kRow = 512;  // elements of 8 bytes

Status barrier(Communicator& comm) {
  BENTO_ASSIGN(const auto all, comm.gather({}));
  BENTO_ASSIGN(const auto answer, comm.broadcast({}));
  return {};
}

Result<std::unique_ptr<Container>> shared_container(const MemoryFileSystem& disk,
                                                    Communicator& comm) {
  const std::shared_ptr<Communicator> shared(&comm, [](Communicator*) {});
  ContainerOptions options = small_options(disk.opener());
  options.chunk_bytes = 1u << 20;
  options.stream.buffer_bytes = 64u << 10;
  options.share_uncommitted = true;
  options.must_share = true;
  options.timeout_s = 0.3;
  return Container::create("box", false, options, shared);
}

Box row(std::uint64_t at) {
  return {Dims{at, 0}, Dims{1, kRow}};
}

Status write_row(Container& container, DatasetNumber dataset, std::uint64_t at,
                 std::uint64_t value) {
  const std::vector<std::uint64_t> values(kRow, value);
  return container.write(dataset, row(at), 8, bytes_of(values));
}

Status check_value(const std::vector<std::uint64_t>& values, std::uint64_t wanted) {
  for (const std::uint64_t value : values)
    if (value != wanted) return fail(Code::kInternal, "another value");
  return {};
}

DatasetNumber declare(Container& container) {
  container.note_collective("create", {});
  return container.declare({}, 8, 2, 0);
}

/// Rank 1 finds a record in rank 0's memory. Until it reads it, rank 0 has come to a call that
/// fixes the layout, and has put the record into the file.
Status meet_moved_record(const MemoryFileSystem& disk, Communicator& comm) {
  BENTO_ASSIGN(const auto container, shared_container(disk, comm));
  const DatasetNumber dataset = declare(*container);
  RecordLookup found;
  const bool writes = comm.rank() == 0;
  if (writes) {
    BENTO_TRY(write_row(*container, dataset, 0, 7));
    BENTO_TRY(container->publish());
  }
  BENTO_TRY(barrier(comm));
  if (!writes) {
    BENTO_ASSIGN(found, container->find(dataset, row(0)));
    if (found.pieces.size() != 1 || container->layout_fixed())
      return fail(Code::kInternal, "the record is not in a buffer");
  }
  BENTO_TRY(barrier(comm));
  if (writes) {
    declare(*container);
    container->declared(100u << 20);
    for (std::uint64_t at = 2; at < 66; at += 2)  // apart, so that they stay records
      BENTO_TRY(write_row(*container, dataset, at, at));
    BENTO_TRY(container->publish());
  }
  BENTO_TRY(barrier(comm));
  if (!writes) {
    std::vector<std::uint64_t> values(kRow);
    BENTO_TRY(container->read(found.records[found.pieces[0].record], row(0), 8, row(0),
                              reinterpret_cast<std::byte*>(values.data())));
    BENTO_TRY(check_value(values, 7));
    declare(*container);
    container->declared(100u << 20);
  }
  return container->close();
}

/// Both write in a call after which natively each knows what all have written, and rank 1 comes
/// late.
Status meet_late_writer(const MemoryFileSystem& disk, Communicator& comm) {
  BENTO_ASSIGN(const auto container, shared_container(disk, comm));
  const DatasetNumber dataset = declare(*container);
  const auto mine = static_cast<std::uint64_t>(comm.rank());
  if (mine == 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  container->note_collective_write();
  if (mine == 1) {  // as if its program were called back, and wrote something else first
    BENTO_TRY(container->publish());
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  BENTO_TRY(write_row(*container, dataset, mine, mine));
  container->end_collective_write();
  BENTO_TRY(container->publish());
  BENTO_ASSIGN(const RecordLookup found, container->find(dataset, {Dims{0, 0}, Dims{2, kRow}}));
  if (!found.uncovered.empty()) return fail(Code::kInternal, "something was not written yet");
  BENTO_TRY(barrier(comm));

  // Rank 1 does not come at all.
  if (mine == 0) {
    container->note_collective_write();
    container->end_collective_write();
    const Status late = container->await_meeting();
    if (late || late.error().code != Code::kPeer ||
        late.error().text.find("rank 1") == std::string::npos)
      return fail(Code::kInternal, "a rank that does not come was not missed");
  }
  BENTO_TRY(barrier(comm));
  if (mine == 1) {
    container->note_collective_write();
    container->end_collective_write();
  }
  return container->close();
}

void run_two(Status (*program)(const MemoryFileSystem&, Communicator&)) {
  const MemoryFileSystem disk;
  const auto results = run_ranks(2, [&](Communicator& comm) { return program(disk, comm); });
  for (const auto& status : results)  // first who failed, then who missed it
    if (!status && status.error().code != Code::kPeer) require_ok(status);
  for (const auto& status : results) require_ok(status);
}

}  // namespace

TEST_CASE("board: a record goes to the file before its reader knows the layout", "[core][board]") {
  run_two(meet_moved_record);
}

TEST_CASE("board: who asks after a common write waits for the others", "[core][board]") {
  run_two(meet_late_writer);
}

}  // namespace bento
