// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Parts of large records that lie far apart in them, or that are what many small writes have left.
#include <random>

#include <catch2/catch_test_macros.hpp>

#include "tests/core/container/container_support.hpp"
#include "tests/support/counted_reads.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/thread_comm.hpp"

namespace bento {
namespace {

using namespace test;

const Dims kExtent{64, 48, 160};  // 3.75 MiB of numbers, in one record

std::uint64_t value_of(const Box& element) {
  return row_major_offset(Box::whole(kExtent), element) * 3 + 1;
}

class Volume {
 public:
  explicit Volume(Verification verification) {
    ContainerOptions options = small_options(counted(disk_.opener(), counts_));
    options.chunk_bytes = 16u << 20;
    options.lock = Locking::kOff;
    options.verify = verification;
    {
      auto made = Container::create("box", false, options, make_self_communicator());
      REQUIRE(made);
      REQUIRE((*made)->declare({}, 8, 3, 0) == 0);
      std::vector<std::uint64_t> values(kExtent.product());
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = i * 3 + 1;
      (*made)->note_collective("step", {});
      REQUIRE((*made)->write(0, Box::whole(kExtent), 8, bytes_of(values)));
      REQUIRE((*made)->close());
    }
    auto opened = Container::open("box", false, options, make_self_communicator());
    REQUIRE(opened);
    container_ = std::move(*opened);
    auto found = container_->find(0, Box::whole(kExtent));
    REQUIRE(found);
    REQUIRE(found->records.size() == 1);
    record_ = found->records.front();
  }

  /// Reads these parts into the memory of `to_box`, which holds zeros elsewhere; gives the bytes
  /// that it took.
  std::uint64_t check(const std::vector<Box>& parts, const Box& to_box) {
    std::vector<std::uint64_t> values(to_box.elements());
    counts_ = {};
    REQUIRE(
        container_->read(record_, parts, 8, to_box, reinterpret_cast<std::byte*>(values.data())));
    const std::uint64_t read = counts_.bytes;
    std::vector<std::uint64_t> wanted(values.size());
    Box element{Dims(3), Dims(3, 1)};
    for (const Box& part : parts)
      for (element.start[0] = part.start[0]; element.start[0] < part.start[0] + part.count[0];
           ++element.start[0])
        for (element.start[1] = part.start[1]; element.start[1] < part.start[1] + part.count[1];
             ++element.start[1])
          for (element.start[2] = part.start[2]; element.start[2] < part.start[2] + part.count[2];
               ++element.start[2])
            wanted[row_major_offset(to_box, element)] = value_of(element);
    CHECK(values == wanted);
    return read;
  }

 private:
  MemoryFileSystem disk_;
  ReadCounts counts_;
  std::unique_ptr<Container> container_;
  Record record_;
};

Box random_box(std::mt19937_64& random, const Box& within) {
  Box box = within;
  for (unsigned d = 0; d < box.rank(); ++d) {
    if (random() % 3 == 0) continue;  // all of it
    const std::uint64_t skip = random() % within.count[d];
    box.start[d] += skip;
    box.count[d] = 1 + random() % (random() % 2 == 0 ? 1 : within.count[d] - skip);
  }
  return box;
}

}  // namespace

TEST_CASE("scattered reads: any disjoint parts", "[core][container]") {
  for (const auto verification : {Verification::kNone, Verification::kSmall, Verification::kAll}) {
    Volume volume(verification);
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      CAPTURE(seed);
      std::mt19937_64 random(seed);
      const Box to_box =
          seed % 3 == 0 ? Box::whole(kExtent) : random_box(random, Box::whole(kExtent));
      // What is left of it when some boxes are taken away, or the boxes themselves.
      std::vector<Box> left{to_box};
      std::vector<Box> taken;
      for (std::uint64_t i = random() % 8; i > 0; --i) {
        const Box cut = random_box(random, to_box);
        std::vector<Box> next;
        for (const Box& box : left) {
          if (overlaps(box, cut)) taken.push_back(intersect(box, cut));
          subtract(box, cut, next);
        }
        left = std::move(next);
      }
      volume.check(left, to_box);
      volume.check(taken, to_box);
    }
  }
}

TEST_CASE("scattered reads: what lies between planes that were written later is read once",
          "[core][container]") {
  Volume volume(Verification::kSmall);
  std::vector<Box> left{Box::whole(kExtent)};
  for (std::uint64_t plane = 3; plane < kExtent[2]; plane += 8) {
    std::vector<Box> next;
    for (const Box& box : left)
      subtract(box, {Dims{0, 0, plane}, Dims{kExtent[0], kExtent[1], 1}}, next);
    left = std::move(next);
  }
  REQUIRE(left.size() == kExtent[2] / 8 + 1);
  CHECK(volume.check(left, Box::whole(kExtent)) < 2 * kExtent.bytes(8));
}

TEST_CASE("scattered reads: a line through all planes reads little of them", "[core][container]") {
  Volume volume(Verification::kSmall);
  const Box line{Dims{0, 17, 31}, Dims{kExtent[0], 1, 1}};
  CHECK(volume.check({line}, line) < kExtent.bytes(8) / 8);
}

TEST_CASE("scattered reads: a column reads little of wide rows", "[core][container]") {
  // Rows of 24000 bytes, of which halves of what is wanted are cut off in turn.
  constexpr std::uint64_t kRows = 300;
  const MemoryFileSystem disk;
  ReadCounts counts;
  ContainerOptions options = small_options(counted(disk.opener(), counts));
  options.chunk_bytes = 16u << 20;
  options.lock = Locking::kOff;
  const Box all{Dims{0, 0}, Dims{kRows, 3000}};
  {
    auto made = Container::create("box", false, options, make_self_communicator());
    REQUIRE(made);
    REQUIRE((*made)->declare({}, 8, 2, 0) == 0);
    REQUIRE((*made)->write(0, all, 8, bytes_of(band_values(all, 1))));
    REQUIRE((*made)->close());
  }
  auto opened = Container::open("box", false, options, make_self_communicator());
  REQUIRE(opened);
  auto found = (*opened)->find(0, all);
  REQUIRE(found);
  REQUIRE(found->records.size() == 1);
  // Into memory of its own, and between other elements.
  for (const std::uint64_t count : {1u, 3u})
    for (const std::uint64_t around : {0u, 2u}) {
      const Box columns{Dims{2, 1717 + count}, Dims{kRows - 5, count}};
      Box to_box = columns;
      to_box.start[1] -= around;
      to_box.count[1] += around;
      std::vector<std::uint64_t> values(to_box.elements());
      counts = {};
      REQUIRE((*opened)->read(found->records[0], std::span(&columns, 1), 8, to_box,
                              reinterpret_cast<std::byte*>(values.data())));
      CHECK(counts.reads <= kRows);
      CHECK(counts.bytes <= columns.elements() * 8);
      auto wanted = band_values(to_box, 1);
      for (std::uint64_t i = 0; i < wanted.size(); ++i)
        if (i % (count + around) < around) wanted[i] = 0;
      CHECK(values == wanted);
    }
}

TEST_CASE("scattered reads: who goes on slice by slice is given several at a time",
          "[core][container]") {
  for (const auto verification : {Verification::kSmall, Verification::kAll}) {
    for (const unsigned dimension : {1u, 2u}) {
      for (const std::uint64_t layers : {1u, 3u}) {
        CAPTURE(dimension, layers);
        Volume volume(verification);
        Box slice = Box::whole(kExtent);
        slice.count[dimension] = layers;
        std::uint64_t read = 0;
        for (; slice.start[dimension] + layers <= kExtent[dimension];
             slice.start[dimension] += layers)
          read += volume.check({slice}, slice);
        CHECK(read < 6 * kExtent.bytes(8));
        // Back, and in another direction.
        slice.start[dimension] = 0;
        volume.check({slice}, slice);
        slice.start[0] = 1;
        slice.count[0] = kExtent[0] - 1;
        volume.check({slice}, slice);
      }
    }
  }
}

}  // namespace bento
