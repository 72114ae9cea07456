// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "core/container/container.hpp"
#include "tests/core/container/container_support.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/memory_file.hpp"

namespace bento {
namespace {

using namespace test;

constexpr std::uint64_t kChunk = 4u << 20;

Box whole(std::uint64_t count) {
  Box box{Dims(1), Dims(1)};
  box.count[0] = count;
  return box;
}

std::vector<std::byte> bytes_of(std::uint64_t count, unsigned value) {
  return std::vector<std::byte>(static_cast<std::size_t>(count), static_cast<std::byte>(value));
}

ContainerOptions options_on(const MemoryFileSystem& disk, StreamOptions::Alignment alignment) {
  ContainerOptions options;
  options.opener = disk.opener();
  options.chunk_bytes = kChunk;
  options.stream.whole_datasets = alignment;
  return options;
}

/// Datasets of these sizes, each written whole, with a small piece of another one between them.
/// Gives their addresses.
std::vector<std::uint64_t> write_all(Container& container, std::span<const std::uint64_t> sizes) {
  std::vector<std::uint64_t> found;
  for (const std::uint64_t size : sizes) {
    const DatasetNumber pieces = container.declare({}, 1, 1, 0);
    require_ok(container.write(pieces, whole(37), 1, bytes_of(37, 3)));
    const DatasetNumber number = container.declare({}, 1, 1, 0);
    container.note_whole(number, size);
    require_ok(container.write(number, whole(size), 1, bytes_of(size, number % 200)));
    const auto address = must(container.address_of(number, whole(size)));
    REQUIRE(address.has_value());
    found.push_back(*address);
  }
  require_ok(container.commit());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto number = static_cast<DatasetNumber>(2 * i + 1);
    CHECK(must(container.address_of(number, whole(sizes[i]))) == found[i]);
    std::vector<std::byte> read(static_cast<std::size_t>(sizes[i]));
    const auto seen = must(container.find(number, whole(sizes[i])));
    require_ok(container.read(seen.records[0], whole(sizes[i]), 1, whole(sizes[i]), read.data()));
    CHECK(read == bytes_of(sizes[i], number % 200));
  }
  return found;
}

constexpr std::array<std::uint64_t, 7> kSizes{1, 1000, 40'000, 70'000, 1'500'000, 3'500'000, 900};

TEST_CASE("container: whole datasets are aligned where chunks have room", "[core][container]") {
  for (const std::uint64_t multiple : {7u, 1000u, 4096u, 12288u, 65536u, 1u << 20}) {
    const MemoryFileSystem disk;
    auto container = must(Container::create("box", false, options_on(disk, {1000, multiple}),
                                            make_self_communicator()));
    const auto found = write_all(*container, kSizes);
    for (std::size_t i = 0; i < kSizes.size(); ++i) {
      INFO(kSizes[i] << " bytes, " << multiple);
      const bool fits = kSizes[i] + multiple + 4096 <= kChunk;
      if (kSizes[i] >= 1000 && fits) CHECK(found[i] % multiple == 0);
    }
    require_ok(container->close());
  }
}

TEST_CASE("container: alignments that no chunk has room for are passed over", "[core][container]") {
  for (const std::uint64_t multiple : {std::uint64_t{kChunk / 4 + 1}, std::uint64_t{1} << 60,
                                       (std::uint64_t{1} << 63) + 1, ~std::uint64_t{0}}) {
    const MemoryFileSystem disk;
    auto container = must(
        Container::create("box", false, options_on(disk, {0, multiple}), make_self_communicator()));
    write_all(*container, kSizes);
    require_ok(container->close());
  }
}

TEST_CASE("container: aligned datasets that are written again take old places",
          "[core][container]") {
  const MemoryFileSystem disk;
  auto container =
      must(Container::create("box", false, options_on(disk, {1, 65536}), make_self_communicator()));
  const DatasetNumber number = container->declare({}, 1, 1, 0);
  container->note_whole(number, 1000);
  std::uint64_t highest = 0;
  for (unsigned turn = 0; turn < 40; ++turn) {
    require_ok(container->write(number, whole(1000), 1, bytes_of(1000, turn)));
    const auto address = must(container->address_of(number, whole(1000)));
    REQUIRE(address.has_value());
    CHECK(*address % 65536 == 0);
    if (turn < 5) highest = std::max(highest, *address);
    CHECK(*address <= highest);
    require_ok(container->commit());
  }
  require_ok(container->close());
}

TEST_CASE("container: what is in no single place has no address", "[core][container]") {
  const MemoryFileSystem disk;
  auto container =
      must(Container::create("box", false, options_on(disk, {}), make_self_communicator()));
  const DatasetNumber number = container->declare({}, 1, 1, 0);
  CHECK_FALSE(must(container->address_of(number, whole(100))).has_value());
  require_ok(container->write(number, whole(100), 1, bytes_of(100, 1)));
  CHECK(must(container->address_of(number, whole(100))).has_value());
  CHECK_FALSE(must(container->address_of(number, whole(101))).has_value());
  CHECK_FALSE(must(container->address_of(number, whole(99))).has_value());
  require_ok(container->write(number, whole(10), 1, bytes_of(10, 2)));
  CHECK_FALSE(must(container->address_of(number, whole(100))).has_value());
  require_ok(container->close());
}

TEST_CASE("container: a large record begins where its data lies in a line of the cache",
          "[core][container]") {
  constexpr std::uint64_t kBytes = 100'000;
  const std::vector<std::byte> memory = bytes_of(kBytes + 200, 7);
  for (const bool exactly : {false, true}) {
    for (std::size_t shift = 0; shift < 130; ++shift) {
      INFO(shift << (exactly ? ", align=4K" : ", align=auto"));
      const MemoryFileSystem disk;
      auto options = options_on(disk, {});
      options.stream.align_exactly = exactly;
      auto container = must(Container::create("box", false, options, make_self_communicator()));
      container->declared(kBytes);
      const DatasetNumber number = container->declare({}, 1, 1, 0);
      const auto data = std::span(memory).subspan(shift, kBytes);
      require_ok(container->write(number, whole(kBytes), 1, data));
      const std::uint64_t address = must(container->address_of(number, whole(kBytes))).value();
      const auto place = reinterpret_cast<std::uintptr_t>(data.data()) % 64;
      CHECK(address % 4096 == (exactly ? 0 : place));
      require_ok(container->close());
    }
  }
}

}  // namespace
}  // namespace bento
