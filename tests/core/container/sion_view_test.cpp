// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The bytes that make a physical file of ours a SION container: they never change by accident, and
/// core/sion reads from them what was meant.
#include "core/catalogue/sion_view.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "core/base/hash.hpp"
#include "core/sion/reader.hpp"
#include "tests/support/memory_file.hpp"

namespace bento {
namespace {

constexpr std::uint64_t kChunk = 16u << 10;

ContainerPlan plan_of(std::span<const FileGroup> groups) {
  return ContainerPlan::of(groups, 4096).value();
}

/// Fills that differ in number and size of chunks; writer 1 wrote nothing.
std::vector<ChunkFill> some_fills(std::uint32_t writers) {
  std::vector<ChunkFill> fills(writers);
  for (std::uint32_t writer = 0; writer < writers; ++writer) {
    if (writer == 1) continue;
    fills[writer].assign(writer % 3, kChunk - writer);
    fills[writer].push_back(100 + writer);
  }
  return fills;
}

std::span<const ChunkFill> of_file(const std::vector<ChunkFill>& fills, const FilePlan& part) {
  return std::span(fills).subspan(part.first_writer, part.writers);
}

/// Writes all physical files of `plan` in one state; returns where the catalogues go on.
enum class State { kProvisional, kUnfinished, kComplete };
std::vector<Position> write_all(const MemoryFileSystem& disk, const ContainerPlan& plan,
                                State state, Position catalogue_end) {
  const auto fills = some_fills(plan.writers());
  std::vector<Position> ends(plan.files());
  for (std::uint32_t index = plan.files(); index-- > 0;) {
    auto file = disk.open(physical_name("box", index), OpenMode::kCreate).value();
    if (state == State::kProvisional) {
      REQUIRE(write_provisional_sion(*file, plan, index, "box"));
      continue;
    }
    REQUIRE(write_unfinished_sion(*file, plan, index, "box"));
    if (state == State::kUnfinished) continue;
    CatalogueSpace space(index == 0 ? catalogue_end : 0);
    REQUIRE(complete_sion(*file, plan, index, of_file(fills, plan.file(index)), space,
                          [] { return Status{}; }));
    ends[index] = space.end();
  }
  return ends;
}

/// Readers want used chunks inside the file: as long as if data had been written.
void make_room(const MemoryFileSystem& disk, const ContainerPlan& plan, Position catalogue_end) {
  for (std::uint32_t index = 0; index < plan.files(); ++index) {
    auto file = disk.open(physical_name("box", index), OpenMode::kReadWrite).value();
    const FilePlan& part = plan.file(index);
    const std::uint64_t blocks = std::max<std::uint64_t>(4, catalogue_end / kChunk + 1);
    const std::uint64_t wanted = part.data_start() + blocks * part.block_bytes();
    REQUIRE(file->truncate(std::max(wanted, file->size().value())));
  }
}

/// First half of the hash over all files, name by name.
std::string digest(const MemoryFileSystem& disk) {
  Hasher hasher;
  for (const auto& name : disk.names()) hasher.update(disk.content(name));
  const Hash128 hash = hasher.digest();
  std::string text;
  for (const auto byte : std::span(hash).first(8))
    text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

const std::vector<FileGroup> kOneFile = {{4, 1, kChunk}};
const std::vector<FileGroup> kThreeFiles = {{7, 3, kChunk}};
const std::vector<FileGroup> kGrown = {{2, 1, kChunk}, {3, 1, kChunk}};
constexpr Position kInsideAChunk = 5000;
constexpr Position kBehindTwoChunks = 2 * kChunk + 77;
/// So many that META2 is larger than a chunk and lies behind all of them.
constexpr Position kManyBlocks = 700 * kChunk + 9;

TEST_CASE("sion view: the bytes on disk are what they always were", "[core][container][sionview]") {
  struct Case {
    const std::vector<FileGroup>& groups;
    State state;
    Position end;
    std::string_view hash;
  };
  const std::vector<Case> cases = {
      {kOneFile, State::kProvisional, 0, "a6310de7688ef4ae"},
      {kOneFile, State::kUnfinished, 0, "52c2f3be70d599a1"},
      {kOneFile, State::kComplete, kInsideAChunk, "f7c06eb22ab0be83"},
      {kOneFile, State::kComplete, kBehindTwoChunks, "f3d130bf93c51af6"},
      {kThreeFiles, State::kProvisional, 0, "fb4b129bf28f9ba0"},
      {kThreeFiles, State::kUnfinished, 0, "3e0e212a9a3e3392"},
      {kThreeFiles, State::kComplete, kInsideAChunk, "e3b90fb2203e4edc"},
      {kThreeFiles, State::kComplete, kBehindTwoChunks, "7a56223d052691ea"},
      {kGrown, State::kUnfinished, 0, "af01994a7b03119d"},
      {kGrown, State::kComplete, kInsideAChunk, "22f72e815aeeb7a1"},
      {kGrown, State::kComplete, kBehindTwoChunks, "138f4723e097bf62"},
      {kGrown, State::kComplete, kManyBlocks, "b0ba3c02ef058664"},
  };
  for (std::size_t number = 0; number < cases.size(); ++number) {
    const auto& [groups, state, end, hash] = cases[number];
    INFO("case " << number);
    auto wanted = groups;
    if (state == State::kProvisional)
      for (auto& group : wanted) group.chunk_bytes = 0;
    const MemoryFileSystem disk;
    write_all(disk, plan_of(wanted), state, end);
    CHECK(digest(disk) == hash);
  }
}

TEST_CASE("sion view: core/sion reads what was meant", "[core][container][sionview]") {
  for (const auto* groups : {&kOneFile, &kThreeFiles, &kGrown})
    for (const Position end : {Position{0}, kInsideAChunk, kBehindTwoChunks, kManyBlocks}) {
      const MemoryFileSystem disk;
      const auto plan = plan_of(*groups);
      const auto ends = write_all(disk, plan, State::kComplete, end);
      make_room(disk, plan, end);
      const auto fills = some_fills(plan.writers());
      auto reader = SionReader::open(disk.opener(), "box");
      INFO((reader ? std::string() : reader.error().text));
      REQUIRE(reader);
      REQUIRE(reader->files() == plan.files());
      REQUIRE(reader->tasks() == plan.globals());
      for (std::uint64_t task = 0; task < reader->tasks(); ++task)
        CHECK(reader->global_rank(task) == static_cast<std::int64_t>(task));
      for (std::uint32_t index = 0; index < plan.files(); ++index) {
        const FilePlan& part = plan.file(index);
        const auto& info = reader->file(index);
        for (std::uint32_t task = 0; task < part.tasks(); ++task) {
          CHECK(info.meta2.blocks(task) == info.meta1.max_blocks);
          CHECK(info.layout.chunk_address(task, 1).value() == part.address(task, kChunk));
        }
        for (std::uint32_t task = 0; task < part.writers; ++task) {
          const std::uint32_t writer = part.first_writer + task;
          const std::uint32_t global = part.first_global + task;
          CHECK(reader->mapping()[global] == SionPlace{index, task});
          CHECK(reader->stream_bytes(global) == stream_bytes(fills[writer]));
          for (std::uint64_t block = 0; block < reader->blocks(global); ++block)
            CHECK(reader->chunk_used(global, block) ==
                  (block < fills[writer].size() ? fills[writer][block] : 0));
        }
        const Position catalogue = index == 0 ? end : 0;
        CHECK(reader->mapping()[part.catalogue_global] == SionPlace{index, part.catalogue_task()});
        CHECK(reader->stream_bytes(part.catalogue_global) == catalogue);
        CHECK(ends[index] >= catalogue);
      }
    }
}

TEST_CASE("sion view: provisional is an empty container, unfinished is none",
          "[core][container][sionview]") {
  for (const auto* groups : {&kOneFile, &kThreeFiles}) {
    const MemoryFileSystem disk;
    auto empty = *groups;
    for (auto& group : empty) group.chunk_bytes = 0;
    write_all(disk, plan_of(empty), State::kProvisional, 0);
    const auto reader = SionReader::open(disk.opener(), "box");
    INFO((reader ? std::string() : reader.error().text));
    REQUIRE(reader);
    CHECK(reader->tasks() == plan_of(empty).globals());
    for (std::uint64_t task = 0; task < reader->tasks(); ++task)
      CHECK(reader->stream_bytes(task) == 0);
    write_all(disk, plan_of(*groups), State::kUnfinished, 0);
    const auto refused = SionReader::open(disk.opener(), "box");
    REQUIRE_FALSE(refused);
    CHECK(refused.error().text.find("not closed") != std::string::npos);
  }
}

TEST_CASE("sion view: a session does not write over the META2 in use",
          "[core][container][sionview]") {
  for (const auto* groups : {&kOneFile, &kThreeFiles}) {
    const auto plan = plan_of(*groups);
    for (const Position end : {kInsideAChunk, kBehindTwoChunks, kManyBlocks}) {
      const MemoryFileSystem disk;
      const auto ends = write_all(disk, plan, State::kComplete, end);
      make_room(disk, plan, end);
      auto file = disk.open("box", OpenMode::kReadWrite).value();
      // The root of a session that died before its last one: it does not know of META2 yet.
      CatalogueSpace known(end);
      const bool kept = guard_sion(*file, plan, 0, known).value();
      CHECK(kept == (end != kManyBlocks));
      CHECK(known.end() >= ends[0]);
      CHECK(SionReader::open(disk.opener(), "box").has_value() == kept);
      CatalogueSpace later(ends[0] + 12345);
      CHECK(guard_sion(*file, plan, 0, later).value() == kept);
      CHECK(later.end() == ends[0] + 12345);
      // Closing it again brings it back.
      const auto fills = some_fills(plan.writers());
      REQUIRE(complete_sion(*file, plan, 0, of_file(fills, plan.file(0)), known,
                            [] { return Status{}; }));
      CHECK(SionReader::open(disk.opener(), "box").has_value());
    }
  }
}

}  // namespace
}  // namespace bento
