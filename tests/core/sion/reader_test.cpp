// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "core/sion/dump.hpp"
#include "core/sion/keyval.hpp"
#include "core/sion/reader.hpp"
#include "core/sion/writer.hpp"
#include "tests/core/sion/oracle.hpp"
#include "tests/support/fault_file.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/memory_file.hpp"

using namespace bento;
using namespace bento::test;

namespace {

MemoryFileSystem files_of(const GoldenContainer& golden) {
  const MemoryFileSystem memory;
  for (const auto& file : golden.files) memory.put(file.name, file.content);
  return memory;
}

void put32(test::Bytes& bytes, std::size_t at, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i)
    bytes[at + i] = static_cast<std::byte>(value >> (8 * i) & 0xFFu);
}

void reverse(test::Bytes& bytes, std::size_t at, std::size_t width, std::size_t count = 1) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at + i * width);
    std::reverse(begin, begin + static_cast<std::ptrdiff_t>(width));
  }
}

/// What SIONlib would have written on a big-endian machine: every META integer turned round by
/// hand.
test::Bytes big_endian(const GoldenFile& file) {
  test::Bytes bytes = file.content;
  const std::size_t n = file.tasks;
  for (std::size_t i = 4; i < 8; ++i) bytes[i] = std::byte{1};
  reverse(bytes, 8, 4, 7);
  reverse(bytes, 36, 8, 2);
  reverse(bytes, 1076, 8, 2 * n);
  reverse(bytes, 1076 + 16 * n, 4);
  reverse(bytes, 1080 + 16 * n, 8);
  reverse(bytes, file.meta2_address, 8, n * (1 + file.max_blocks));
  const std::size_t rest = file.meta2_address + 8 * n * (1 + file.max_blocks);
  reverse(bytes, rest, 4, (bytes.size() - rest) / 4);
  return bytes;
}

}  // namespace

TEST_CASE("sion reader: big-endian containers", "[core][sion]") {
  for (const auto& golden : require_golden_sion()) {
    if (golden.keyval || golden.name == "flag_big.sion") continue;
    INFO(golden.name);
    const MemoryFileSystem memory;
    for (const auto& file : golden.files) memory.put(file.name, big_endian(file));
    auto reader = must(SionReader::open(memory.opener(), golden.name));
    CHECK(reader.file(0).meta1.order == std::endian::big);
    REQUIRE(reader.tasks() == golden.tasks());
    for (std::size_t task = 0; task < golden.tasks(); ++task) {
      test::Bytes stream(reader.stream_bytes(task));
      require_ok(reader.read_stream(task, 0, stream));
      CHECK(sha256_hex(stream) == golden.stream_sha256[task]);
    }
    // Our own writer makes the same bytes.
    SionWriterOptions options;
    options.style = golden.serial ? SionStyle::kSerial : SionStyle::kParallel;
    options.fsblksize = golden.fsblksize;
    options.files = static_cast<std::uint32_t>(golden.files.size());
    options.order = options.data_order = std::endian::big;
    std::vector<SionTask> tasks;
    for (std::size_t task = 0; task < golden.tasks(); ++task)
      tasks.push_back({golden.global_ranks[task], golden.chunk_requested[task]});
    const MemoryFileSystem again;
    auto writer = must(SionWriter::create(again.opener(), golden.name, options, tasks));
    for (std::size_t task = 0; task < golden.tasks(); ++task) {
      for (std::size_t block = 0; block < reader.blocks(task); ++block) {
        if (block > 0) require_ok(writer.begin_block(task));
        test::Bytes chunk(reader.chunk_used(task, block));
        require_ok(reader.read_chunk(task, block, 0, chunk));
        require_ok(writer.append(task, chunk));
      }
    }
    require_ok(writer.finish());
    for (const auto& file : golden.files)
      CHECK(again.content(file.name) == memory.content(file.name));
  }
}

TEST_CASE("sion reader: big-endian containers with one byte changed", "[core][sion][damage]") {
  const GoldenFile& file = require_golden_sion("nonident_ranks.sion").files[0];
  test::Bytes bytes = big_endian(file);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if ((at >= 52 && at < 1076) || (at >= 1168 && at < file.meta2_address)) continue;
    for (unsigned bit = 0; bit < 8; ++bit) {
      bytes[at] ^= static_cast<std::byte>(1u << bit);
      const std::string problem = compare_with_oracle({{"x", bytes}}, "x", false);
      if (!problem.empty()) FAIL(fmt::format("byte {} bit {}: {}", at, bit, problem));
      bytes[at] ^= static_cast<std::byte>(1u << bit);
    }
  }
  SUCCEED();
}

TEST_CASE("sion reader: a container that was not closed", "[core][sion]") {
  const GoldenContainer& golden = require_golden_sion("three_blocks.sion");
  const MemoryFileSystem memory;
  auto bytes = golden.files[0].content;
  const std::size_t tail = 1076 + 16 * 3;
  SECTION("killed before any data") {
    bytes.resize(tail);
  }
  SECTION("killed later") {
    std::fill_n(bytes.begin() + tail, 12, std::byte{0});
  }
  memory.put("x.sion", bytes);
  require_error(SionReader::open(memory.opener(), "x.sion"), Code::kCorrupt,
                {"x.sion", "not closed"});
  // Its head is readable all the same, for whoever repairs it.
  auto file = must(memory.open("x.sion", OpenMode::kRead));
  CHECK(must(read_meta1(*file)).chunk_bytes == std::vector<std::uint64_t>{4096, 8192, 4096});
}

TEST_CASE("sion reader: files that are no containers", "[core][sion]") {
  const MemoryFileSystem memory;
  memory.put("empty", {});
  memory.put("short", test::Bytes(3, std::byte{'s'}));
  memory.put("other", test::Bytes(5000, std::byte{'x'}));
  require_error(SionReader::open(memory.opener(), "absent"), Code::kNotFound, {"absent"});
  for (const std::string name : {"empty", "short", "other"})
    require_error(SionReader::open(memory.opener(), name), Code::kCorrupt, {name, "sion"});
}

TEST_CASE("sion reader: physical files that do not belong together", "[core][sion]") {
  const GoldenContainer& golden = require_golden_sion("multi2.sion");
  const auto memory = files_of(golden);
  auto sub = golden.files[1].content;
  const std::string& name = golden.files[1].name;
  SECTION("one is missing") {
    memory.remove(name);
    require_error(SionReader::open(memory.opener(), golden.name), Code::kNotFound, {name});
  }
  SECTION("one says it is alone") {
    put32(sub, 28, 1);
    memory.put(name, sub);
    require_error(SionReader::open(memory.opener(), golden.name), Code::kCorrupt,
                  {name, "nfiles 1"});
  }
  SECTION("one is another one") {
    memory.put(name, golden.files[0].content);
    require_error(SionReader::open(memory.opener(), golden.name), Code::kCorrupt,
                  {name, "filenumber 0"});
  }
  SECTION("one has records") {
    put32(sub, 40, 51);
    memory.put(name, sub);
    require_error(SionReader::open(memory.opener(), golden.name), Code::kCorrupt, {name, "flag1"});
  }
  SECTION("another fsblksize is no contradiction") {
    // S stays 1536 with F = 256 and 768.
    put32(sub, 20, 768);
    memory.put(name, sub);
    auto reader = must(SionReader::open(memory.opener(), golden.name));
    test::Bytes stream(reader.stream_bytes(5));
    require_ok(reader.read_stream(5, 0, stream));
    CHECK(sha256_hex(stream) == golden.stream_sha256[5]);
  }
  SECTION("more physical files than mapped tasks") {
    auto master = golden.files[0].content;
    put32(master, 28, 1u << 24);
    memory.put(golden.name, master);
    require_error(SionReader::open(memory.opener(), golden.name), Code::kCorrupt,
                  {"6 entries for 16777216"});
  }
}

TEST_CASE("sion reader: META2 elsewhere", "[core][sion]") {
  const GoldenContainer& golden = require_golden_sion("five_uneven.sion");
  auto bytes = golden.files[0].content;
  const std::size_t old = golden.files[0].meta2_address;
  const MemoryFileSystem memory;
  const test::Bytes meta2(bytes.begin() + static_cast<std::ptrdiff_t>(old), bytes.end());
  SECTION("behind a gap") {
    bytes.resize(old + 1000);
    bytes.insert(bytes.end(), meta2.begin(), meta2.end());
    put32(bytes, 1080 + 16 * 5, static_cast<std::uint32_t>(old + 1000));
  }
  SECTION("inside the unused rest of a chunk, the last chunk being cut short") {
    // Task 2 uses 300 bytes of the 1024 at 2560.
    bytes.resize(5632 + 1);
    std::copy(meta2.begin(), meta2.end(), bytes.begin() + 2560 + 512);
    put32(bytes, 1080 + 16 * 5, 2560 + 512);
  }
  memory.put("x.sion", bytes);
  auto reader = must(SionReader::open(memory.opener(), "x.sion"));
  for (std::size_t task = 0; task < golden.tasks(); ++task) {
    test::Bytes stream(reader.stream_bytes(task));
    require_ok(reader.read_stream(task, 0, stream));
    CHECK(sha256_hex(stream) == golden.stream_sha256[task]);
  }
}

TEST_CASE("sion reader: format 3, whose chunk sizes the reader rounds", "[core][sion]") {
  const GoldenContainer& golden = require_golden_sion("five_uneven.sion");
  auto bytes = golden.files[0].content;
  put32(bytes, 16, 3);
  for (std::size_t task = 0; task < 5; ++task)
    put32(bytes, 1076 + 8 * (5 + task), static_cast<std::uint32_t>(golden.chunk_requested[task]));
  const MemoryFileSystem memory;
  memory.put("x.sion", bytes);
  auto reader = must(SionReader::open(memory.opener(), "x.sion"));
  for (std::size_t task = 0; task < golden.tasks(); ++task) {
    test::Bytes stream(reader.stream_bytes(task));
    require_ok(reader.read_stream(task, 0, stream));
    CHECK(sha256_hex(stream) == golden.stream_sha256[task]);
  }
}

TEST_CASE("sion reader: reads outside a stream or chunk", "[core][sion]") {
  const GoldenContainer& golden = require_golden_sion("three_blocks.sion");
  auto reader = must(SionReader::open(files_of(golden).opener(), golden.name));
  test::Bytes into(100);
  require_error(reader.read_stream(3, 0, into), Code::kInvalidArgument, {"task 3 of 3"});
  require_error(reader.read_stream(0, 7901, into), Code::kInvalidArgument, {"which has 8000"});
  require_error(reader.read_stream(0, ~0ull - 10, into), Code::kInvalidArgument);
  require_ok(reader.read_stream(0, 7900, into));
  require_ok(reader.read_stream(0, 8000, {}));
  require_error(reader.read_chunk(0, 0, 2901, into), Code::kInvalidArgument, {"which has 3000"});
  require_error(reader.read_chunk(0, 3, 0, into), Code::kInvalidArgument, {"which has 0"});
  require_error(reader.read_chunk(0, 0, ~0ull, into), Code::kInvalidArgument);
  require_error(reader.read_chunk(9, 0, 0, into), Code::kInvalidArgument);
  require_ok(reader.read_chunk(0, 2, 1900, into));
}

TEST_CASE("sion reader: a read error of the system comes through", "[core][sion]") {
  const GoldenContainer& golden = require_golden_sion("one_task.sion");
  const FaultFileSystem faults(files_of(golden).opener());
  auto reader = must(SionReader::open(faults.opener(), golden.name));
  faults.add({.on = FaultOn::kRead, .os_errno = EIO});
  test::Bytes into(10);
  require_error(reader.read_stream(0, 0, into), Code::kIo, {golden.name});
  require_ok(reader.read_stream(0, 0, into));
}

TEST_CASE("sion reader: its dump lists all physical files", "[core][sion]") {
  const GoldenContainer& golden = require_golden_sion("multi2.sion");
  const auto reader = must(SionReader::open(files_of(golden).opener(), golden.name));
  const std::string text = dump(reader);
  for (const std::string_view word :
       {"physical file 1: file of 10848 bytes", "start_of_varheader 10752",
        "task 2: 2 blocks, 2500 bytes: 1250 1250", "global task 5: file 1, task 2"}) {
    INFO(word);
    CHECK(text.find(word) != std::string::npos);
  }
}

TEST_CASE("sion key-value: what is damaged is refused", "[core][sion]") {
  const GoldenContainer& golden = require_golden_sion("keyval_inline.sion");
  auto bytes = golden.files[0].content;
  const MemoryFileSystem memory;
  const auto records = [&]() -> Result<std::vector<KeyvalRecord>> {
    memory.put("x.sion", bytes);
    BENTO_ASSIGN(auto reader, SionReader::open(memory.opener(), "x.sion"));
    BENTO_ASSIGN(auto all, KeyvalReader::open(reader, 0));
    return all.all();
  };
  CHECK(must(records()).size() == 3);
  SECTION("a length beyond the stream") {
    put32(bytes, 1536 + 8, 753);
    require_error(records(), Code::kCorrupt, {"length 753", "752 bytes left"});
  }
  SECTION("a negative length") {
    put32(bytes, 1536 + 12, 0xFFFFFFFF);
    require_error(records(), Code::kCorrupt, {"length -"});
  }
  SECTION("a head cut off") {
    put32(bytes, 1536 + 8, 752 - 15);
    require_error(records(), Code::kCorrupt, {"15 bytes left, a head has 16"});
  }
  SECTION("a container without records") {
    const GoldenContainer& plain = require_golden_sion("one_task.sion");
    auto reader = must(SionReader::open(files_of(plain).opener(), plain.name));
    require_error(KeyvalReader::open(reader, 0), Code::kUnsupported, {"mode 50"});
  }
  SECTION("a value read beyond its end, a task that is not there") {
    auto reader = must(SionReader::open(files_of(golden).opener(), golden.name));
    require_error(KeyvalReader::open(reader, 2), Code::kInvalidArgument);
    auto all = must(KeyvalReader::open(reader, 1));
    const auto first = must(all.next());
    REQUIRE(first.has_value());
    test::Bytes into(2);
    require_error(all.read(*first, 99, into), Code::kInvalidArgument);
    require_ok(all.read(*first, 98, into));
  }
}
