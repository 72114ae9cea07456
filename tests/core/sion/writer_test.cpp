// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <string>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "core/sion/keyval.hpp"
#include "core/sion/reader.hpp"
#include "core/sion/writer.hpp"
#include "tests/core/sion/oracle.hpp"
#include "tests/support/fault_file.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/scratch.hpp"

using namespace bento;
using namespace bento::test;

namespace {

std::vector<SionTask> equal_tasks(std::size_t count, std::uint64_t chunk_bytes) {
  std::vector<SionTask> tasks;
  for (std::size_t task = 0; task < count; ++task)
    tasks.push_back({static_cast<std::int64_t>(task), chunk_bytes});
  return tasks;
}

test::Bytes read_whole(SionReader& reader, std::uint64_t task) {
  test::Bytes stream(static_cast<std::size_t>(reader.stream_bytes(task)));
  require_ok(reader.read_stream(task, 0, stream));
  return stream;
}

/// Uneven streams of every task, in pieces that do not fit chunks.
Status write_streams(SionWriter& writer) {
  for (std::size_t at = 0; at < 4000; at += 700) {
    for (std::uint64_t task = 0; task < writer.tasks(); ++task) {
      const auto stream = golden_stream(task, 100 + 500 * task);
      if (at >= stream.size()) continue;
      BENTO_TRY(writer.append(
          task, std::span(stream).subspan(at, std::min<std::size_t>(700, stream.size() - at))));
    }
  }
  return writer.finish();
}

void require_streams(SionReader& reader, std::uint64_t tasks) {
  REQUIRE(reader.tasks() == tasks);
  for (std::uint64_t task = 0; task < tasks; ++task) {
    INFO("task " << task);
    CHECK(read_whole(reader, task) == golden_stream(task, 100 + 500 * task));
  }
}

}  // namespace

TEST_CASE("sion writer: round trips with any number of files and either byte order",
          "[core][sion]") {
  for (const std::uint32_t files : {1u, 2u, 3u, 7u}) {
    for (const auto order : {std::endian::little, std::endian::big}) {
      INFO(files << " files");
      const MemoryFileSystem memory;
      SionWriterOptions options;
      options.files = files;
      options.fsblksize = 256;
      options.order = order;
      auto writer =
          must(SionWriter::create(memory.opener(), "d/x.sion", options, equal_tasks(7, 300)));
      require_ok(write_streams(writer));
      auto reader = must(SionReader::open(memory.opener(), "d/x.sion"));
      CHECK(reader.files() == files);
      require_streams(reader, 7);
      std::map<std::string, test::Bytes> contents;
      for (const auto& name : memory.names()) contents[name] = memory.content(name);
      Images images(contents.begin(), contents.end());
      CHECK(compare_with_oracle(images, "d/x.sion", false).empty());
    }
  }
}

TEST_CASE("sion writer: tasks may be placed anywhere", "[core][sion]") {
  const MemoryFileSystem memory;
  SionWriterOptions options;
  options.files = 3;
  options.fsblksize = 512;
  options.places = {{2, 1}, {0, 0}, {1, 1}, {2, 0}, {1, 0}, {0, 2}, {0, 1}};
  auto writer = must(SionWriter::create(memory.opener(), "x", options, equal_tasks(7, 1000)));
  require_ok(write_streams(writer));
  auto reader = must(SionReader::open(memory.opener(), "x"));
  CHECK(reader.mapping() == options.places);
  require_streams(reader, 7);
  for (std::uint64_t task = 0; task < 7; ++task)
    CHECK(reader.global_rank(task) == static_cast<std::int64_t>(task));
  options.places[3] = {2, 1};
  require_error(SionWriter::create(memory.opener(), "x", options, equal_tasks(7, 1000)),
                Code::kInvalidArgument, {"a second time"});
  options.places = {{0, 0}, {1, 0}};
  options.files = 3;
  require_error(SionWriter::create(memory.opener(), "x", options, equal_tasks(2, 1)),
                Code::kInvalidArgument);
}

TEST_CASE("sion writer: more physical files than it keeps open", "[core][sion]") {
  constexpr std::uint32_t kFiles = 150;
  const MemoryFileSystem memory;
  std::size_t opened = 0;
  const FileOpener counting = [&](const std::string& path, OpenMode mode) {
    ++opened;
    return memory.open(path, mode);
  };
  SionWriterOptions options;
  options.files = kFiles;
  options.fsblksize = 64;
  auto writer = must(SionWriter::create(counting, "x", options, equal_tasks(2 * kFiles, 64)));
  for (std::uint64_t task = 0; task < 2 * kFiles; ++task)
    require_ok(writer.append(task, golden_stream(task, task)));
  require_ok(writer.finish());
  CHECK(opened > kFiles);
  auto reader = must(SionReader::open(memory.opener(), "x"));
  for (std::uint64_t task = 0; task < 2 * kFiles; ++task)
    REQUIRE(read_whole(reader, task) == golden_stream(task, task));
}

TEST_CASE("sion writer: records never split, as in SIONlib", "[core][sion]") {
  const MemoryFileSystem memory;
  SionWriterOptions options;
  options.fsblksize = 4096;
  auto writer = must(SionWriter::create(memory.opener(), "x", options, equal_tasks(1, 3000)));
  CHECK(writer.chunk_bytes(0) == 4096);
  const auto stream = golden_stream(0, 8000);
  for (std::size_t at = 0; at < 8000; at += 1500)
    require_ok(writer.write_record(
        0, std::span(stream).subspan(at, std::min<std::size_t>(1500, 8000 - at))));
  require_error(writer.write_record(0, test::Bytes(4097)), Code::kInvalidArgument,
                {"4097", "4096"});
  require_error(writer.write_record(1, {}), Code::kInvalidArgument);
  require_ok(writer.finish());
  auto reader = must(SionReader::open(memory.opener(), "x"));
  REQUIRE(reader.blocks(0) == 3);
  CHECK(reader.chunk_used(0, 0) == 3000);
  CHECK(reader.chunk_used(0, 2) == 2000);
  CHECK(read_whole(reader, 0) == stream);
}

TEST_CASE("sion writer: an even block count for readers that trust task 0", "[core][sion]") {
  const MemoryFileSystem memory;
  SionWriterOptions options;
  options.fsblksize = 512;
  options.even_blocks = true;
  auto writer = must(SionWriter::create(memory.opener(), "x", options, equal_tasks(4, 512)));
  require_ok(write_streams(writer));
  auto reader = must(SionReader::open(memory.opener(), "x"));
  for (std::uint64_t task = 0; task < 4; ++task) CHECK(reader.blocks(task) == 4);
  require_streams(reader, 4);
}

TEST_CASE("sion writer: chunk sizes as given", "[core][sion]") {
  const MemoryFileSystem memory;
  SionWriterOptions options;
  options.fsblksize = 512;
  options.round_chunks = false;
  const std::vector<SionTask> tasks{{0, 100}, {1, 412}, {2, 0}};
  auto writer = must(SionWriter::create(memory.opener(), "x", options, tasks));
  require_ok(writer.append(0, golden_stream(0, 250)));
  require_ok(writer.append(1, golden_stream(1, 413)));
  require_error(writer.append(2, golden_stream(2, 1)), Code::kInvalidArgument, {"size 0"});
  require_ok(writer.append(2, {}));
  require_ok(writer.finish());
  auto reader = must(SionReader::open(memory.opener(), "x"));
  CHECK(reader.file(0).meta1.chunk_bytes == std::vector<std::uint64_t>{100, 412, 0});
  CHECK(read_whole(reader, 0) == golden_stream(0, 250));
  CHECK(read_whole(reader, 1) == golden_stream(1, 413));
  CHECK(reader.blocks(2) == 1);
}

TEST_CASE("sion writer: more than 100 blocks, where SIONlib's own writer breaks", "[core][sion]") {
  const MemoryFileSystem memory;
  SionWriterOptions options;
  options.fsblksize = 8;
  auto writer = must(SionWriter::create(memory.opener(), "x", options, equal_tasks(2, 8)));
  require_ok(writer.append(1, golden_stream(1, 8 * 400 + 3)));
  require_ok(writer.finish());
  auto reader = must(SionReader::open(memory.opener(), "x"));
  CHECK(reader.blocks(1) == 401);
  CHECK(reader.blocks(0) == 1);
  CHECK(read_whole(reader, 1) == golden_stream(1, 8 * 400 + 3));
}

TEST_CASE("sion writer: sparse containers of 10 GB", "[core][sion]") {
  const Scratch scratch;
  SionWriterOptions options;
  options.fsblksize = 1u << 30;
  auto writer =
      must(SionWriter::create(open_posix_file, scratch / "x.sion", options, equal_tasks(3, 1)));
  for (std::uint64_t task = 0; task < 3; ++task) {
    for (std::uint64_t block = 0; block < 3; ++block) {
      if (block > 0) require_ok(writer.begin_block(task));
      require_ok(writer.append(task, golden_stream(10 * task + block, 50)));
    }
  }
  require_ok(writer.finish());
  auto reader = must(SionReader::open(open_posix_file, scratch / "x.sion"));
  CHECK(reader.file(0).file_bytes > 10ull << 30);
  CHECK(reader.file(0).meta1.meta2_address == 10ull << 30);
  for (std::uint64_t task = 0; task < 3; ++task) {
    const auto stream = read_whole(reader, task);
    REQUIRE(stream.size() == 150);
    for (std::uint64_t block = 0; block < 3; ++block) {
      const auto part = std::span(stream).subspan(50 * block, 50);
      CHECK(test::Bytes(part.begin(), part.end()) == golden_stream(10 * task + block, 50));
    }
  }
  require_ok(reader.close());
}

TEST_CASE("sion writer: what cannot be a container is refused before a file is made",
          "[core][sion]") {
  const MemoryFileSystem memory;
  const auto refused = [&](const SionWriterOptions& options, const std::vector<SionTask>& tasks,
                           std::string_view word) {
    require_error(SionWriter::create(memory.opener(), "x", options, tasks), Code::kInvalidArgument,
                  {word});
  };
  refused({}, {}, "0 tasks");
  SionWriterOptions options;
  options.files = 3;
  refused(options, equal_tasks(2, 1), "3 physical files for 2 tasks");
  options.files = 2;
  options.style = SionStyle::kSerial;
  refused(options, equal_tasks(2, 1), "serial");
  options = {};
  options.fsblksize = 0;
  refused(options, equal_tasks(2, 1), "fsblksize");
  options = {};
  options.files = 2;
  refused(options, {{1, 5}, {0, 5}}, "global rank 1 of task 0");
  options = {};
  refused(options, {{0, ~0ull}}, "");
  refused(options, {{0, 1ull << 62}, {1, 1ull << 62}}, "task 1");
  options.prefix = std::string(1024, 'p');
  refused(options, equal_tasks(1, 1), "prefix");
  CHECK(memory.names().empty());
}

TEST_CASE("sion writer: killed at any moment it leaves a container or none",
          "[core][sion][fault]") {
  const auto program = [](const FileOpener& opener) -> Status {
    SionWriterOptions options;
    options.files = 2;
    options.fsblksize = 128;
    BENTO_ASSIGN(auto writer, SionWriter::create(opener, "x", options, equal_tasks(4, 128)));
    return write_streams(writer);
  };
  const MemoryFileSystem first;
  const FaultFileSystem counting(first.opener());
  require_ok(program(counting.opener()));
  const std::uint64_t changes = counting.counts().changes();
  REQUIRE(changes > 20);
  std::uint64_t whole = 0;
  for (std::uint64_t last = 1; last <= changes; ++last) {
    for (const bool power : {false, true}) {
      const MemoryFileSystem memory;
      const FaultFileSystem faults(memory.opener());
      faults.add({.nth = last, .die = true, .torn_at = 5});
      require_error(program(faults.opener()), Code::kIo);
      if (power) require_ok(faults.power_loss());
      auto reader = SionReader::open(memory.opener(), "x");
      if (!reader) continue;
      ++whole;
      require_streams(*reader, 4);
    }
  }
  // The sync after the last 12 bytes is the only change that may fail and yet leave everything.
  CHECK(whole == 1);
}

TEST_CASE("sion writer: a full disk is reported, and by name", "[core][sion][fault]") {
  const MemoryFileSystem memory;
  const FaultFileSystem faults(memory.opener());
  faults.add({.on = FaultOn::kWrite, .nth = 5, .forever = true, .os_errno = ENOSPC});
  auto writer = must(SionWriter::create(faults.opener(), "x", {}, equal_tasks(4, 128)));
  require_error(write_streams(writer), Code::kNoSpace, {"'x'", "errno = 28"});
  require_error(SionReader::open(memory.opener(), "x"), Code::kCorrupt, {"not closed"});
}

TEST_CASE("sion writer: key-value records over chunk ends, in both byte orders", "[core][sion]") {
  for (const auto order : {std::endian::little, std::endian::big}) {
    const MemoryFileSystem memory;
    SionWriterOptions options;
    options.fsblksize = 8;
    options.order = order;
    options.keyval = KeyvalMode::kInline;
    auto writer = must(SionWriter::create(memory.opener(), "x", options, equal_tasks(1, 24)));
    for (std::uint64_t i = 0; i < 40; ++i)
      require_ok(append_keyval(writer, 0, -static_cast<std::int64_t>(i << 33), golden_stream(i, i),
                               order));
    require_ok(writer.finish());
    auto reader = must(SionReader::open(memory.opener(), "x"));
    auto records = must(KeyvalReader::open(reader, 0));
    for (std::uint64_t i = 0; i < 40; ++i) {
      const auto record = must(records.next());
      REQUIRE(record.has_value());
      CHECK(record->key == -static_cast<std::int64_t>(i << 33));
      test::Bytes value(record->bytes);
      require_ok(records.read(*record, 0, value));
      CHECK(value == golden_stream(i, i));
    }
    CHECK_FALSE(must(records.next()).has_value());
  }
}

TEST_CASE("sion writer: it is over when it is finished", "[core][sion]") {
  const MemoryFileSystem memory;
  auto writer = must(SionWriter::create(memory.opener(), "x", {}, equal_tasks(1, 10)));
  require_ok(writer.finish());
  require_error(writer.append(0, golden_stream(0, 1)), Code::kInvalidArgument, {"finished"});
  require_error(writer.begin_block(0), Code::kInvalidArgument);
  require_error(writer.finish(), Code::kInvalidArgument);
}

TEST_CASE("sion writer: a million tasks", "[core][sion][full]") {
  constexpr std::uint64_t kTasks = 1u << 20;
  const Scratch scratch;
  auto writer =
      must(SionWriter::create(open_posix_file, scratch / "x.sion", {}, equal_tasks(kTasks, 4096)));
  for (const std::uint64_t task : {std::uint64_t{0}, kTasks / 2, kTasks - 1})
    require_ok(writer.append(task, golden_stream(task, 5000)));
  require_ok(writer.finish());
  auto reader = must(SionReader::open(open_posix_file, scratch / "x.sion"));
  REQUIRE(reader.tasks() == kTasks);
  CHECK(reader.file(0).file_bytes > 8ull << 30);
  for (const std::uint64_t task : {std::uint64_t{0}, kTasks / 2, kTasks - 1})
    CHECK(read_whole(reader, task) == golden_stream(task, 5000));
  CHECK(reader.stream_bytes(1) == 0);
}
