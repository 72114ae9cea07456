// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// An allocation fails somewhere in a commit. What comes after it is right or refused: no root is
// forgotten whose space is then used again.
#include <atomic>

#include <catch2/catch_test_macros.hpp>

#include "tests/core/container/container_support.hpp"
#include "tests/core/container/crash_support.hpp"
#include "tests/support/fault_file.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/test_memory.hpp"
#include "tests/support/thread_comm.hpp"

namespace bento {
namespace {

using namespace test;

/// So much metadata that every other commit writes over what an older one has left.
std::vector<std::byte> large_skeleton(std::uint64_t step) {
  std::vector<std::byte> bytes(200000);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>((i * 7 + step * 31) & 0xFF);
  return bytes;
}

Status write_large_step(Container& container, std::uint64_t step) {
  container.skeleton().write(0, large_skeleton(step));
  const Box box = rows_of(container.comm().rank(), container.comm().size());
  return container.write(0, box, 8, bytes_of(band_values(box, step)));
}

/// What a reader finds is all of one step: no older one than `committed`.
void require_one_step(const MemoryFileSystem& disk, std::uint64_t committed) {
  auto opened =
      Container::open("box", false, small_options(disk.opener()), make_self_communicator());
  if (!opened) FAIL(opened.error().text);
  Container& box = **opened;
  const auto values = read_all(box, 0);
  if (!values) FAIL(values.error().text);
  const std::uint64_t step = values->front() >> 40;
  REQUIRE(*values == whole_values(step));
  REQUIRE(step >= committed);
  const auto wanted = large_skeleton(step);
  const auto have = box.skeleton().bytes();
  REQUIRE(std::equal(have.begin(), have.end(), wanted.begin(), wanted.end()));
}

enum class Act { kCommit, kClose };

/// Commits of one process; in the sixth, or in the close, the `nth` allocation fails. Returns
/// whether there were so many.
bool fail_at(std::uint64_t nth, Act act, std::uint64_t keep) {
  const MemoryFileSystem disk;
  ContainerOptions options = small_options(disk.opener());
  options.keep = keep;
  std::uint64_t committed = 0;
  bool failed = false;
  {
    auto box = Container::create("box", false, options, make_self_communicator()).value();
    box->declare({}, 8, 2, 0);
    for (std::uint64_t step = 1; step <= 12; ++step) {
      REQUIRE(write_large_step(*box, step));
      const bool now = step == 6;
      Status done;
      try {
        const FailingMemory memory(now ? nth : 0);
        done = now && act == Act::kClose ? box->close() : box->commit();
      } catch (const std::bad_alloc&) {
        done = fail(Code::kInternal, "out of memory");
      }
      if (now) failed = FailingMemory::failed();
      if (done) committed = step;
      require_one_step(disk, committed);
      if (now && act == Act::kClose) break;
    }
    box->abandon();
  }
  auto again = Container::open("box", true, options, make_self_communicator());
  if (!again) FAIL(again.error().text);
  for (std::uint64_t step = 20; step < 24; ++step) {
    REQUIRE(write_large_step(**again, step));
    REQUIRE((*again)->commit());
    require_one_step(disk, step);
  }
  REQUIRE((*again)->close());
  return failed;
}

void fail_at_each(std::uint64_t stride) {
  for (const Act act : {Act::kCommit, Act::kClose})
    for (const std::uint64_t keep : {1u, 3u})
      for (std::uint64_t nth = 1;; nth += stride) {
        CAPTURE(static_cast<int>(act), keep, nth);
        if (!fail_at(nth, act, keep)) break;
      }
}

/// Three ranks; on one of them the `nth` change of a file is an allocation that fails.
bool fail_on_rank(std::uint64_t nth, int sick) {
  const MemoryFileSystem disk;
  const FaultFileSystem faults(disk.opener());
  std::atomic<std::uint64_t> committed = 0;
  std::atomic<bool> met = false;
  const auto ended = run_ranks(3, [&](Communicator& comm) -> Status {
    const std::shared_ptr<Communicator> shared(&comm, [](Communicator*) {});
    const bool mine = comm.rank() == sick;
    ContainerOptions options = small_options(mine ? faults.opener() : disk.opener());
    BENTO_ASSIGN(auto box, Container::create("box", false, options, shared));
    box->declare({}, 8, 2, 0);
    for (std::uint64_t step = 1; step <= 10; ++step) {
      if (step == 6 && mine) faults.add({.nth = nth, .no_memory = true});
      BENTO_TRY(write_large_step(*box, step));
      Status done;
      try {
        done = step == 10 ? box->close() : box->commit();
      } catch (const std::bad_alloc&) {
        return fail(Code::kInternal, "an exception left a collective call");
      }
      if (!done) met = true;
      if (done && comm.rank() == 0) committed = step;
    }
    box->abandon();
    return {};
  });
  for (const auto& status : ended) {
    INFO((status ? std::string() : status.error().text));
    REQUIRE(status);
  }
  require_one_step(disk, committed);
  return met;
}

}  // namespace

TEST_CASE("failing commit: no memory at some allocation", "[core][container][memory]") {
  fail_at_each(23);
}

TEST_CASE("failing commit: no memory at each allocation", "[core][container][memory][long]") {
  fail_at_each(1);
}

TEST_CASE("failing commit: no memory on one rank of three", "[core][container][memory]") {
  for (const int sick : {0, 2}) {
    CAPTURE(sick);
    std::uint64_t nth = 1;
    while (fail_on_rank(nth, sick)) ++nth;
    CHECK(nth > 3);
  }
}

}  // namespace bento
