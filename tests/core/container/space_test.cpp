// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A dataset that is overwritten for ever by ranks that take other parts of it in every step: what
/// a rank wrote is overwritten by others, and its space is found all the same.
#include <catch2/catch_test_macros.hpp>

#include "core/offline/offline.hpp"
#include "tests/core/container/container_support.hpp"
#include "tests/core/container/crash_support.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/thread_comm.hpp"

namespace bento {
namespace {

using namespace test;

constexpr std::uint64_t kCount = 256u << 10;  // 2 MiB
constexpr int kRanks = 4;

/// Cuts of the dataset among the ranks in a step.
using Cuts = std::vector<std::uint64_t> (*)(std::uint64_t step);

Box part_of(Cuts cuts, std::uint64_t step, int rank, bool rotate) {
  const auto at = cuts(step);
  const auto part =
      static_cast<std::size_t>((static_cast<std::uint64_t>(rank) + (rotate ? step : 0)) % kRanks);
  return {Dims{at[part]}, Dims{at[part + 1] - at[part]}};
}

std::vector<std::uint64_t> equal(std::uint64_t) {
  return {0, kCount / 4, kCount / 2, kCount / 4 * 3, kCount};
}

std::vector<std::uint64_t> moving(std::uint64_t step) {
  const std::uint64_t shift = (step * 7919) % (kCount / 5);
  return {0, kCount / 5 + shift / 2, kCount / 2 - shift / 4, kCount / 4 * 3 + shift / 2, kCount};
}

/// Length of all streams together.
std::uint64_t bytes_after(std::uint64_t steps, std::uint64_t keep, Cuts cuts, bool rotate) {
  const MemoryFileSystem disk;
  const auto options = [&] {
    ContainerOptions made = crash_options(disk.opener());
    made.keep = keep;
    made.chunk_bytes = 4u << 20;
    return made;
  };
  for (const auto& status : run_ranks(kRanks, [&](Communicator& comm) -> Status {
         const std::shared_ptr<Communicator> shared(&comm, [](Communicator*) {});
         BENTO_ASSIGN(auto box, Container::create("box", false, options(), shared));
         const DatasetNumber dataset = box->declare({}, 8, 1, 0);
         for (std::uint64_t step = 1; step <= steps; ++step) {
           box->note_collective("step", {});
           const Box mine = part_of(cuts, step, comm.rank(), rotate);
           std::vector<std::uint64_t> values(mine.elements());
           for (std::size_t i = 0; i < values.size(); ++i) values[i] = step + mine.start[0] + i;
           BENTO_TRY(box->write(dataset, mine, 8, bytes_of(values)));
           BENTO_TRY(box->commit());
         }
         return box->close();
       }))
    REQUIRE(status);

  auto box = Container::open("box", false, options(), make_self_communicator());
  REQUIRE(box);
  const Box whole = Box::whole(Dims{kCount});
  std::vector<std::uint64_t> values(kCount);
  const auto seen = (*box)->find(0, whole);
  REQUIRE(seen);
  REQUIRE(seen->uncovered.empty());
  for (const auto& piece : seen->pieces)
    REQUIRE((*box)->read(seen->records[piece.record], piece.part, 8, whole,
                         reinterpret_cast<std::byte*>(values.data())));
  bool right = true;
  for (std::size_t i = 0; i < values.size(); ++i) right = right && values[i] == steps + i;
  REQUIRE(right);
  const auto offline = OfflineContainer::open("box", disk.opener());
  REQUIRE(offline);
  std::uint64_t bytes = 0;
  for (std::uint32_t writer = 0; writer < kRanks; ++writer)
    bytes += stream_bytes((*offline)->fill(writer));
  return bytes;
}

TEST_CASE("space: ranks that change places", "[core][container][space]") {
  REQUIRE(bytes_after(100, 1, equal, true) <= 2 * kCount * 8 + (1u << 20));
}

TEST_CASE("space: ranks that change places, three steps kept", "[core][container][space]") {
  REQUIRE(bytes_after(60, 3, equal, true) <= 4 * kCount * 8 + (1u << 20));
}

TEST_CASE("space: cuts that move", "[core][container][space]") {
  // Blocks of many sizes, of which each rank must find some that fit: more than twice the data, but
  // it does not go on growing.
  REQUIRE(bytes_after(100, 1, moving, false) <= 7 * kCount * 8);
  REQUIRE(bytes_after(400, 1, moving, true) <= 9 * kCount * 8);
}

}  // namespace
}  // namespace bento
