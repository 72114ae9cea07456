// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A dataset that is overwritten for ever by ranks that take other parts of it in every step: what
/// a rank wrote is overwritten by others, and its space is found all the same.
#include <cstring>

#include <catch2/catch_test_macros.hpp>

#include "core/offline/offline.hpp"
#include "core/offline/verify_streams.hpp"
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

/// Compressed pieces, of which no two steps have the same sizes.
struct Pieces {
  std::uint64_t count = 60;
  std::uint64_t least = 3000;  ///< bytes
  std::uint64_t more = 400;    ///< up to so many
  std::uint64_t growth = 0;    ///< and so many in each step
};

std::vector<std::byte> stored_piece(const Pieces& pieces, std::uint64_t step, std::uint64_t piece) {
  const std::uint64_t random = (step * 1000 + piece) * 0x9E3779B97F4A7C15u;
  std::vector<std::byte> bytes(pieces.least + step * pieces.growth + (random >> 32) % pieces.more,
                               std::byte{0x5A});
  std::memcpy(bytes.data(), &random, sizeof random);
  return bytes;
}

Box place_of(std::uint64_t piece) {
  return {Dims{piece * 512}, Dims{512}};
}

bool holds_step(Container& box, const Pieces& pieces, DatasetNumber dataset, std::uint64_t step) {
  for (std::uint64_t piece = 0; piece < pieces.count; ++piece) {
    const auto found = box.find(dataset, place_of(piece));
    if (!found || found->pieces.size() != 1) return false;
    const auto stored = box.read_stored(found->records[found->pieces.front().record]);
    if (!stored || *stored != stored_piece(pieces, step, piece)) return false;
  }
  return true;
}

/// Length of the stream of one rank that writes all pieces `steps` times, in sessions of so many
/// steps. Every third step deletes the dataset and makes another one, if it `deletes`.
std::uint64_t bytes_of_pieces(const Pieces& pieces, std::uint64_t steps, std::uint64_t a_session,
                              bool deletes) {
  const MemoryFileSystem disk;
  ContainerOptions options = small_options(disk.opener());
  options.chunk_bytes = 1u << 20;
  DatasetNumber dataset = 0;
  for (std::uint64_t step = 1; step <= steps;) {
    auto box = step == 1 ? Container::create("box", false, options, make_self_communicator())
                         : Container::open("box", true, options, make_self_communicator());
    REQUIRE(box);
    if (step == 1) dataset = (*box)->declare({}, 8, 1, 0);
    if (step > 1) REQUIRE(holds_step(**box, pieces, dataset, step - 1));
    for (std::uint64_t i = 0; i < a_session && step <= steps; ++i, ++step) {
      if (deletes && step % 3 == 0) {
        (*box)->remove(dataset);
        dataset = (*box)->declare({}, 8, 1, 0);
      }
      for (std::uint64_t piece = 0; piece < pieces.count; ++piece)
        REQUIRE(
            (*box)->write_filtered(dataset, place_of(piece), 0, stored_piece(pieces, step, piece)));
      REQUIRE((*box)->commit());
      REQUIRE(holds_step(**box, pieces, dataset, step));
    }
    REQUIRE((*box)->close());
  }
  const auto offline = OfflineContainer::open("box", disk.opener());
  REQUIRE(offline);
  const auto verdict = verify_streams("box", disk.opener());
  REQUIRE(verdict);
  REQUIRE(verdict->count == 0);
  return stream_bytes((*offline)->fill(0));
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

TEST_CASE("space: compressed pieces whose sizes change", "[core][container][space]") {
  // The steps that may be read, and what has fitted none of their blocks: it does not go on
  // growing.
  const Pieces small;
  const std::uint64_t step = small.count * (small.least + small.more / 2);
  REQUIRE(bytes_of_pieces(small, 60, 1, false) <= 6 * step);
  REQUIRE(bytes_of_pieces(small, 60, 20, false) <= 6 * step);
  REQUIRE(bytes_of_pieces(small, 60, 1, true) <= 6 * step);
}

TEST_CASE("space: compressed pieces that all grow a little", "[core][container][space]") {
  const Pieces growing{60, 3000, 20, 30};
  const std::uint64_t largest = growing.count * (growing.least + 60 * growing.growth);
  REQUIRE(bytes_of_pieces(growing, 60, 1, false) <= 12 * largest);
  REQUIRE(bytes_of_pieces(growing, 60, 20, false) <= 12 * largest);
}

TEST_CASE("space: large compressed pieces whose sizes change", "[core][container][space]") {
  const Pieces large{4, 70'000, 60'000};
  const std::uint64_t step = large.count * (large.least + large.more / 2);
  REQUIRE(bytes_of_pieces(large, 60, 1, false) <= 6 * step);
  REQUIRE(bytes_of_pieces(large, 60, 20, false) <= 6 * step);
}

}  // namespace
}  // namespace bento
