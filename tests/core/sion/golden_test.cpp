// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <string>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "core/sion/dump.hpp"
#include "core/sion/reader.hpp"
#include "core/sion/writer.hpp"
#include "tests/core/sion/oracle.hpp"
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

test::Bytes read_whole(SionReader& reader, std::uint64_t task) {
  test::Bytes stream(static_cast<std::size_t>(reader.stream_bytes(task)));
  require_ok(reader.read_stream(task, 0, stream));
  return stream;
}

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const auto byte : bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

/// What the golden container was opened with.
SionWriterOptions options_of(const GoldenContainer& golden) {
  SionWriterOptions options;
  options.style = golden.serial ? SionStyle::kSerial : SionStyle::kParallel;
  options.fsblksize = golden.fsblksize;
  options.files = static_cast<std::uint32_t>(golden.files.size());
  if (golden.name == "flag_big.sion") options.data_order = std::endian::big;
  if (golden.keyval) options.keyval = KeyvalMode::kInline;
  return options;
}

std::vector<SionTask> tasks_of(const GoldenContainer& golden) {
  std::vector<SionTask> tasks;
  for (std::size_t task = 0; task < golden.tasks(); ++task)
    tasks.push_back({golden.global_ranks[task], golden.chunk_requested[task]});
  return tasks;
}

void require_same_files(const MemoryFileSystem& memory, const GoldenContainer& golden) {
  CHECK(memory.names().size() == golden.files.size());
  for (const auto& file : golden.files) {
    INFO(file.name);
    CHECK(sha256_hex(memory.content(file.name)) == sha256_hex(file.content));
    CHECK(memory.content(file.name) == file.content);
  }
}

}  // namespace

TEST_CASE("sion golden: the data are there and untouched", "[core][sion][golden]") {
  require_ok(golden_sion());
  CHECK(require_golden_sion().size() == 9);
}

TEST_CASE("sion golden: a file with another byte is noticed", "[core][sion][golden]") {
  auto content = require_golden_sion("one_task.sion").files[0].content;
  const std::string before = sha256_hex(content);
  content[1600] ^= std::byte{1};
  CHECK(sha256_hex(content) != before);
  CHECK(sha256_hex({}) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  require_error(read_test_data("sion/no_such.sion"), Code::kNotFound, {"no_such.sion"});
}

TEST_CASE("sion golden: every field is decoded as the manifest says", "[core][sion][golden]") {
  for (const auto& golden : require_golden_sion()) {
    auto reader = must(SionReader::open(files_of(golden).opener(), golden.name));
    REQUIRE(reader.files() == golden.files.size());
    for (std::uint32_t index = 0; index < reader.files(); ++index) {
      const GoldenFile& file = golden.files[index];
      INFO(file.name);
      const SionFileInfo& info = reader.file(index);
      CHECK(info.meta1.order == std::endian::little);
      CHECK((info.meta1.data_order == std::endian::big) == (golden.name == "flag_big.sion"));
      CHECK(info.meta1.library_version == 1007);
      CHECK(info.meta1.patch_level == 6);
      CHECK(info.meta1.format_version == 5);
      CHECK(info.meta1.fsblksize == golden.fsblksize);
      CHECK(info.meta1.tasks() == file.tasks);
      CHECK(info.meta1.files == golden.files.size());
      CHECK(info.meta1.file_number == file.file_number);
      CHECK(info.meta1.keyval() == (golden.keyval ? KeyvalMode::kInline : KeyvalMode::kNone));
      CHECK(info.meta1.prefix == golden.name);
      CHECK(info.meta1.max_blocks == file.max_blocks);
      CHECK(info.meta1.meta2_address == file.meta2_address);
      CHECK(info.layout.data_start() == file.data_start);
      CHECK(info.layout.block_bytes() == file.block_bytes);
      for (std::size_t task = 0; task < file.tasks; ++task)
        CHECK(must(info.layout.chunk_address(task, 0)) == file.start_addresses[task]);
      CHECK(must(info.layout.meta2_address(file.max_blocks)) == file.meta2_address);
      const auto rows = must(sion_meta2_bytes(file.tasks, file.max_blocks));
      CHECK(hex(std::span(file.content).subspan(file.meta2_address + rows)) ==
            file.after_sizes_hex);
    }
    if (!golden.mapping.empty()) CHECK(reader.mapping() == golden.mapping);
    require_ok(reader.close());
  }
}

TEST_CASE("sion golden: streams are those that were written", "[core][sion][golden]") {
  for (const auto& golden : require_golden_sion()) {
    auto reader = must(SionReader::open(files_of(golden).opener(), golden.name));
    REQUIRE(reader.tasks() == golden.tasks());
    for (std::size_t task = 0; task < golden.tasks(); ++task) {
      INFO(golden.name << " task " << task);
      const SionPlace place = reader.mapping()[task];
      CHECK(reader.global_rank(task) == golden.global_ranks[task]);
      CHECK(reader.file(place.file).meta1.chunk_bytes[place.task] == golden.chunk_stored[task]);
      REQUIRE(reader.blocks(task) == golden.chunk_used[task].size());
      for (std::size_t block = 0; block < reader.blocks(task); ++block)
        CHECK(reader.chunk_used(task, block) == golden.chunk_used[task][block]);
      const auto stream = read_whole(reader, task);
      CHECK(stream.size() == golden.stream_bytes[task]);
      CHECK(sha256_hex(stream) == golden.stream_sha256[task]);
      if (!golden.keyval) CHECK(stream == golden_stream(task, golden.stream_bytes[task]));
    }
  }
}

TEST_CASE("sion golden: pieces of a stream in any order and size", "[core][sion][golden]") {
  for (const auto& golden : require_golden_sion()) {
    auto reader = must(SionReader::open(files_of(golden).opener(), golden.name));
    for (const std::size_t piece : {7u, 511u, 512u, 513u, 4096u}) {
      // Tasks take turns, so that the reader's cursor is never where it was left.
      std::vector<test::Bytes> read(golden.tasks());
      bool more = true;
      for (std::size_t at = 0; more; at += piece) {
        more = false;
        for (std::size_t task = 0; task < golden.tasks(); ++task) {
          const std::size_t total = golden.stream_bytes[task];
          if (at >= total) continue;
          more = true;
          test::Bytes part(std::min(piece, total - at));
          require_ok(reader.read_stream(task, at, part));
          read[task].insert(read[task].end(), part.begin(), part.end());
        }
      }
      for (std::size_t task = 0; task < golden.tasks(); ++task)
        CHECK(read[task] == read_whole(reader, task));
    }
    for (std::size_t task = 0; task < golden.tasks(); ++task) {  // backwards
      const auto whole = read_whole(reader, task);
      for (std::size_t at = whole.size(); at-- > 0; at -= std::min<std::size_t>(at, 97)) {
        std::byte one{};
        require_ok(reader.read_stream(task, at, std::span(&one, 1)));
        CHECK(one == whole[at]);
      }
    }
  }
}

TEST_CASE("sion golden: each physical file can be read alone", "[core][sion][golden]") {
  const GoldenContainer& golden = require_golden_sion("multi2.sion");
  const auto memory = files_of(golden);
  SECTION("a sub-file by its own name") {
    auto reader = must(SionReader::open(memory.opener(), golden.files[1].name));
    REQUIRE(reader.tasks() == 3);
    CHECK(reader.files() == 1);
    for (std::size_t task = 0; task < 3; ++task) {
      CHECK(reader.global_rank(task) == static_cast<std::int64_t>(task + 3));
      CHECK(sha256_hex(read_whole(reader, task)) == golden.stream_sha256[task + 3]);
    }
  }
  SECTION("the master, when asked for") {
    memory.remove(golden.files[1].name);
    auto reader = must(SionReader::open(memory.opener(), golden.name, SionScope::kOneFile));
    REQUIRE(reader.tasks() == 3);
    CHECK(sha256_hex(read_whole(reader, 0)) == golden.stream_sha256[0]);
  }
}

TEST_CASE("sion golden: the oracle of the damage tests reads them, too", "[core][sion][golden]") {
  for (const auto& golden : require_golden_sion()) {
    Images images;
    for (const auto& file : golden.files) images[file.name] = file.content;
    const OracleResult result = judge_container(images, golden.name, false);
    CHECK(result.problem.empty());
    REQUIRE(result.streams.size() == golden.tasks());
    for (std::size_t task = 0; task < golden.tasks(); ++task)
      CHECK(sha256_hex(result.streams[task]) == golden.stream_sha256[task]);
    CHECK(compare_with_oracle(images, golden.name, false).empty());
  }
}

TEST_CASE("sion golden: written again record by record they are the same bytes",
          "[core][sion][golden]") {
  for (const auto& golden : require_golden_sion()) {
    if (golden.keyval) continue;
    INFO(golden.name);
    const MemoryFileSystem memory;
    auto writer = must(
        SionWriter::create(memory.opener(), golden.name, options_of(golden), tasks_of(golden)));
    for (std::size_t task = 0; task < golden.tasks(); ++task) {
      const auto stream = golden_stream(task, golden.stream_bytes[task]);
      // A task that wrote nothing has no record size.
      const std::size_t piece = golden.record_bytes[task].value_or(1);
      for (std::size_t at = 0; at < stream.size(); at += piece)
        require_ok(writer.write_record(
            task, std::span(stream).subspan(at, std::min(piece, stream.size() - at))));
    }
    require_ok(writer.finish());
    require_same_files(memory, golden);
  }
}

TEST_CASE("sion golden: decoded and encoded again they are the same bytes",
          "[core][sion][golden]") {
  for (const auto& golden : require_golden_sion()) {
    INFO(golden.name);
    auto reader = must(SionReader::open(files_of(golden).opener(), golden.name));
    const MemoryFileSystem memory;
    auto writer = must(
        SionWriter::create(memory.opener(), golden.name, options_of(golden), tasks_of(golden)));
    // Tasks last to first and pieces of odd sizes: the order of writing must not show.
    for (std::size_t task = golden.tasks(); task-- > 0;) {
      for (std::uint64_t block = 0; block < reader.blocks(task); ++block) {
        if (block > 0) require_ok(writer.begin_block(task));
        test::Bytes chunk(reader.chunk_used(task, block));
        require_ok(reader.read_chunk(task, block, 0, chunk));
        for (std::size_t at = 0; at < chunk.size(); at += 333)
          require_ok(writer.append(
              task, std::span(chunk).subspan(at, std::min<std::size_t>(333, chunk.size() - at))));
      }
    }
    require_ok(writer.finish());
    require_same_files(memory, golden);
  }
}

TEST_CASE("sion golden: META1 and META2 encode to the bytes they came from",
          "[core][sion][golden]") {
  for (const auto& golden : require_golden_sion()) {
    for (const auto& file : golden.files) {
      INFO(file.name);
      const auto meta1 = must(decode_meta1(file.content, file.content.size()));
      const auto head = std::span(file.content).first(sion_meta1_bytes(file.tasks));
      CHECK(must(encode_meta1(meta1, true)) == test::Bytes(head.begin(), head.end()));
      const auto open_head = head.first(head.size() - kSionTailBytes);
      CHECK(must(encode_meta1(meta1, false)) == test::Bytes(open_head.begin(), open_head.end()));
      const auto tail = head.last(kSionTailBytes);
      CHECK(encode_meta1_tail(meta1) == test::Bytes(tail.begin(), tail.end()));

      const auto chunk_bytes = must(meta1.effective_chunk_bytes());
      const auto rest = std::span(file.content).subspan(file.meta2_address);
      const auto meta2 =
          must(decode_meta2(rest, {meta1.order, meta1.tasks(), meta1.max_blocks, chunk_bytes}));
      const auto rows = rest.first(must(sion_meta2_bytes(file.tasks, file.max_blocks)));
      CHECK(encode_meta2(meta2, meta1.order) == test::Bytes(rows.begin(), rows.end()));
    }
  }
}

TEST_CASE("sion golden: key-value records", "[core][sion][golden]") {
  const GoldenContainer& golden = require_golden_sion("keyval_inline.sion");
  auto reader = must(SionReader::open(files_of(golden).opener(), golden.name));
  const MemoryFileSystem memory;
  auto writer =
      must(SionWriter::create(memory.opener(), golden.name, options_of(golden), tasks_of(golden)));
  for (std::uint64_t task = 0; task < 2; ++task) {
    INFO("task " << task);
    auto records = must(KeyvalReader::open(reader, task));
    const auto all = must(records.all());
    REQUIRE(all.size() == 3);
    CHECK(dump(all[0]) == "key 7: 100 bytes at 16");
    CHECK(dump(all[1]) == "key 4242: 600 bytes at 132");
    CHECK(dump(all[2]) == "key 7: 20 bytes at 748");
    std::map<std::int64_t, test::Bytes> by_key;
    test::Bytes values;
    for (const auto& record : all) {
      test::Bytes value(record.bytes);
      require_ok(records.read(record, 0, value));
      by_key[record.key].insert(by_key[record.key].end(), value.begin(), value.end());
      values.insert(values.end(), value.begin(), value.end());
      require_ok(append_keyval(writer, task, record.key, value));
    }
    CHECK(values == golden_stream(task, 720));
    for (const auto& [key, value] : by_key)
      CHECK(sha256_hex(value) == golden.key_sha256.at(fmt::format("{:05}_{:012}", task, key)));
  }
  require_ok(writer.finish());
  require_same_files(memory, golden);
}
