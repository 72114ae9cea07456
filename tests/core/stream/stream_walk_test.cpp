// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/stream/stream_walk.hpp"

#include <catch2/catch_test_macros.hpp>

#include "tests/support/hole_file.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/test_memory.hpp"

namespace bento {
namespace {

using fti::v11::DbVar;

constexpr std::uint64_t kChunk = 1ull << 40;
constexpr Position kBlock = fti::v11::kFileBlockBytes;

/// One writer with chunks of a terabyte. Nothing is in them but what a test writes.
struct Stream {
  MemoryFileSystem disk;
  std::unique_ptr<File> file;
  ContainerPlan plan;

  Stream() {
    const FileGroup group{1, 1, kChunk, 0};
    plan = *ContainerPlan::of({&group, 1}, 4096);
    file = *disk.opener()("box", OpenMode::kCreate);
  }
  [[nodiscard]] StreamPlace place(File& of) const { return {&of, plan.file(0), 0, 0}; }
  void write(std::span<const std::byte> bytes) {
    REQUIRE(file->write_at(place(*file).address(kBlock), bytes));
  }
};

TEST_CASE("stream: a block of as many records as one read brings, and of one more or less",
          "[core][stream]") {
  for (const std::uint32_t count : {1u, 2u, 3u, 4097u, 4098u, 4099u, 9000u}) {
    Stream stream;
    std::vector<DbVar> vars;
    for (std::uint32_t i = 0; i < count; ++i) {
      vars.push_back(fti::v11::make_filler(1000 + i, i % 2, fti::HashKind::kXxh3));
      vars.back().containerid = static_cast<std::int32_t>(i);
    }
    stream.write(fti::v11::encode_header(vars));
    REQUIRE(stream.file->truncate(2u << 20));
    const auto place = stream.place(*stream.file);
    const auto block = test::must(read_block(place, kBlock, kChunk - kBlock));
    CHECK(block.position == kBlock);
    CHECK(block.bytes == fti::v11::header_bytes(count) + count / 2);
    CHECK(block.vars == vars);
    // A chunk in which it has no room.
    test::require_error(read_block(place, kBlock, block.bytes - 1), Code::kCorrupt,
                        {"left in its chunk"});
  }
}

TEST_CASE("hostile stream: a head that claims 2^31 records costs no memory", "[core][stream]") {
  Stream stream;
  constexpr std::uint32_t kClaimed = INT32_MAX;
  stream.write(fti::v11::encode(fti::v11::DataBlock{kClaimed, fti::v11::header_bytes(kClaimed)}));
  DbVar some;
  some.id = 7;
  std::vector<std::byte> front;
  for (int i = 0; i < 10000; ++i) {
    const auto one = fti::v11::encode(some);
    front.insert(front.end(), one.begin(), one.end());
  }
  REQUIRE(stream.file->write_at(
      stream.place(*stream.file).address(kBlock) + fti::v11::kDataBlockHeadBytes, front));

  const auto look = [&](File& file, Code code) {
    const test::MemoryWatch watch;
    const auto block = read_block(stream.place(file), kBlock, kChunk - kBlock);
    test::require_error(block, code, {});
    CHECK(watch.peak() < 8u << 20);
  };
  SECTION("in a file that ends") {
    look(*stream.file, Code::kCorrupt);
  }
  SECTION("in a hole") {
    test::HoleFile hole(*stream.file, 2 * kChunk);
    look(hole, Code::kCorrupt);
  }
}

}  // namespace
}  // namespace bento
