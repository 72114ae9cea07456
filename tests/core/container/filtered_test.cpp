// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
// Records whose bytes went through filters: the container keeps them as they are.
#include <algorithm>
#include <cstring>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "core/comm/communicator.hpp"
#include "core/container/container.hpp"
#include "tests/core/container/container_support.hpp"
#include "tests/support/memory_file.hpp"

namespace bento {
namespace {

using namespace test;

/// A filter of our own: all elements of the piece have one value, which is followed by padding.
std::vector<std::byte> pack(std::uint64_t value, std::size_t bytes) {
  std::vector<std::byte> stored(bytes, std::byte{0x5A});
  std::memcpy(stored.data(), &value, sizeof value);
  return stored;
}

/// What the dataset holds, plain and filtered records together.
std::vector<std::uint64_t> elements_of(Container& container, DatasetNumber dataset,
                                       const Dims& extent) {
  const Box whole = Box::whole(extent);
  std::vector<std::uint64_t> values(extent.product(), 0);
  auto* const to = reinterpret_cast<std::byte*>(values.data());
  const auto lookup = container.find(dataset, whole);
  REQUIRE(lookup);
  for (const auto& piece : lookup->pieces) {
    const Record& record = lookup->records[piece.record];
    if (record.encoding == Encoding::kPlain) {
      REQUIRE(container.read(record, piece.part, 8, whole, to));
      continue;
    }
    const auto stored = container.read_stored(record);
    REQUIRE(stored);
    REQUIRE(record.filter_mask == stored->size());
    fill_box(piece.part, whole, to, std::span(*stored).first(8));
  }
  return values;
}

std::unique_ptr<Container> create(const ContainerOptions& options) {
  auto made = Container::create("box", false, options, make_self_communicator());
  REQUIRE(made);
  return std::move(*made);
}

std::unique_ptr<Container> open(const ContainerOptions& options) {
  auto opened = Container::open("box", false, options, make_self_communicator());
  REQUIRE(opened);
  return std::move(*opened);
}

}  // namespace

TEST_CASE("filtered: overwritten in whole and in part while everything gathers in memory",
          "[core][container]") {
  const MemoryFileSystem disk;
  ContainerOptions options = small_options(disk.opener());
  options.stream.buffer_bytes = 16u << 10;
  const Dims extent{8, 16};
  std::vector<std::uint64_t> wanted(extent.product(), 0);
  auto* const image = reinterpret_cast<std::byte*>(wanted.data());
  auto container = create(options);
  const DatasetNumber dataset = container->declare({}, 8, 2, 0);
  for (std::uint64_t i = 1; i <= 3000; ++i) {
    // Chunks of 4 x 8 elements; their stored sizes come again and change.
    const Box chunk{Dims{i % 2 * 4, i / 2 % 2 * 8}, Dims{4, 8}};
    const std::size_t bytes = 40 + i % 5 * 50;
    REQUIRE(container->write_filtered(dataset, chunk, static_cast<std::uint32_t>(bytes),
                                      pack(i, bytes)));
    fill_box(chunk, Box::whole(extent), image, std::as_bytes(std::span(&i, 1)));
    const Box part{Dims{i % 7, i % 11}, Dims{1, 1 + i % 5}};
    const std::vector<std::uint64_t> row(part.elements(), i << 32);
    REQUIRE(container->write(dataset, part, 8, bytes_of(row)));
    copy_box(part, part, bytes_of(row).data(), Box::whole(extent), image, 8);
    if (i % 97 == 0) REQUIRE(elements_of(*container, dataset, extent) == wanted);
  }
  REQUIRE(container->close());
  auto again = open(options);
  REQUIRE(elements_of(*again, dataset, extent) == wanted);
  // What was overwritten did not reach the file.
  REQUIRE(disk.content("box").size() < (1u << 20));
}

TEST_CASE("filtered: a record fills a chunk to its last byte, and is refused beyond that",
          "[core][container]") {
  const MemoryFileSystem disk;
  const ContainerOptions options = small_options(disk.opener());
  const bool fixed = GENERATE(false, true);
  auto container = create(options);
  const DatasetNumber dataset = container->declare({}, 8, 2, 0);
  if (fixed) container->declared(1u << 20);
  const std::uint64_t most = container->largest_record();
  REQUIRE(most > (32u << 10));
  const Dims extent{4, 1 << 14};
  std::vector<std::uint64_t> wanted;
  for (std::uint64_t row = 0; row < extent[0]; ++row) {
    const Box chunk{Dims{row, 0}, Dims{1, extent[1]}};
    const auto refused = container->write_filtered(dataset, chunk, 0, pack(9, most + 1));
    REQUIRE(!refused);
    REQUIRE(refused.error().code == Code::kNoSpace);
    REQUIRE(refused.error().text.find("chunk=") != std::string::npos);
    REQUIRE(container->write_filtered(dataset, chunk, static_cast<std::uint32_t>(most),
                                      pack(row + 1, most)));
    wanted.insert(wanted.end(), extent[1], row + 1);
  }
  REQUIRE(container->close());
  auto again = open(options);
  REQUIRE(elements_of(*again, dataset, extent) == wanted);
}

TEST_CASE("an element that fits no chunk is refused, and the rest of the session is kept",
          "[core][container]") {
  const MemoryFileSystem disk;
  ContainerOptions options = small_options(disk.opener());
  // More than a granule: such an element has a table of hashes behind it.
  options.chunk_bytes = GENERATE(64u << 10, 3u << 20);
  const bool fixed = GENERATE(false, true);
  const std::uint64_t below = GENERATE(0u, 1u, 16u, 100u, 2000u);
  auto container = create(options);
  const DatasetNumber dataset = container->declare({}, 8, 2, 0);
  if (fixed) container->declared(1u << 20);
  const std::uint64_t most = container->largest_record();
  const std::vector<std::byte> element = pack(7, most - below);
  const Box box{Dims{2}, Dims{1}};
  const DatasetNumber large = container->declare({}, element.size(), 1, 0);
  REQUIRE(write_step(*container, dataset, 1));
  const std::vector<std::byte> more = pack(7, most + 1);
  const auto refused = container->write(large, box, more.size(), more);
  REQUIRE(!refused);
  REQUIRE(refused.error().code == Code::kNoSpace);
  REQUIRE(refused.error().text.find("chunk=") != std::string::npos);
  // Near the limit it may be refused, but then at once.
  const auto written = container->write(large, box, element.size(), element);
  REQUIRE((written || below < 100));
  REQUIRE(container->close());
  auto again = open(options);
  REQUIRE(read_all(*again, dataset) == whole_values(1));
  const auto lookup = again->find(large, box);
  REQUIRE(lookup);
  REQUIRE(lookup->pieces.size() == (written ? 1 : 0));
  if (!written) return;
  std::vector<std::byte> found(element.size());
  REQUIRE(again->read(lookup->records[0], box, element.size(), box, found.data()));
  REQUIRE(found == element);
}

TEST_CASE("filtered: elements are refused, stored bytes are held against their hash",
          "[core][container][damage]") {
  const MemoryFileSystem disk;
  const ContainerOptions options = small_options(disk.opener());
  const Box whole = Box::whole(Dims{4, 8});
  {
    auto container = create(options);
    const DatasetNumber dataset = container->declare({}, 8, 2, 0);
    REQUIRE(container->write_filtered(dataset, whole, 3, pack(77, 100)));
    REQUIRE(container->close());
  }
  auto content = disk.content("box");
  const auto stored = pack(77, 100);
  const auto at = std::search(content.begin(), content.end(), stored.begin(), stored.end());
  REQUIRE(at != content.end());
  const bool damaged = GENERATE(false, true);
  if (damaged) {
    at[50] ^= std::byte{1};
    disk.put("box", content);
  }
  auto container = open(options);
  const auto lookup = container->find(0, whole);
  REQUIRE(lookup);
  REQUIRE(lookup->pieces.size() == 1);
  const Record record = lookup->records[lookup->pieces[0].record];
  REQUIRE(record.filter_mask == 3);
  REQUIRE(record.stored_bytes == 100);
  std::vector<std::byte> elements(whole.elements() * 8);
  const auto direct = container->read(record, whole, 8, whole, elements.data());
  REQUIRE(!direct);
  REQUIRE(direct.error().code == Code::kInternal);
  const auto bytes = container->read_stored(record);
  REQUIRE(bytes.has_value() == !damaged);
  REQUIRE(container->largest_record() == 0);
  const auto written = container->write_filtered(0, whole, 0, stored);
  REQUIRE(!written);
  REQUIRE(written.error().code == Code::kPermission);
  if (damaged)
    REQUIRE(bytes.error().code == Code::kCorrupt);
  else
    REQUIRE(*bytes == stored);
}

}  // namespace bento
