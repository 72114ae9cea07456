// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/io/read_ahead.hpp"

#include <algorithm>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "tests/support/fault_file.hpp"
#include "tests/support/memory_file.hpp"

namespace bento {
namespace {

std::byte value_at(std::uint64_t address) {
  return static_cast<std::byte>((address * 2654435761u) >> 13);
}

std::unique_ptr<File> file_of(const MemoryFileSystem& disk, std::uint64_t bytes) {
  auto file = disk.open("box", OpenMode::kCreate);
  REQUIRE(file);
  std::vector<std::byte> all(bytes);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = value_at(i);
  REQUIRE((*file)->write_at(0, all));
  return std::move(*file);
}

bool reads(ReadAhead& ahead, File& file, std::uint64_t address, std::size_t count,
           std::uint64_t end = ReadAhead::kAllTheFile) {
  std::vector<std::byte> into(count);
  if (!ahead.read(file, address, into, end)) return false;
  for (std::size_t i = 0; i < count; ++i)
    if (into[i] != value_at(address + i)) return false;
  return true;
}

TEST_CASE("read ahead: reads that follow each other ask the file seldom", "[core][io]") {
  constexpr std::uint64_t kBytes = 4u << 20;
  const MemoryFileSystem disk;
  const auto file = file_of(disk, kBytes);
  ReadAhead ahead;
  SECTION("one behind the other, to the end of the file") {
    for (std::uint64_t at = 0; at < kBytes; at += 4096) REQUIRE(reads(ahead, *file, at, 4096));
    CHECK(ahead.file_reads() < 32);
  }
  SECTION("with gaps") {
    for (std::uint64_t at = 0; at < kBytes; at += 16384) REQUIRE(reads(ahead, *file, at, 512));
    CHECK(ahead.file_reads() < 32);
  }
  SECTION("several sequences in turn") {
    for (std::uint64_t at = 0; at < kBytes / 4; at += 4096)
      for (std::uint64_t i = 0; i < 4; ++i) REQUIRE(reads(ahead, *file, i * kBytes / 4 + at, 4096));
    CHECK(ahead.file_reads() < 64);
  }
  SECTION("far from each other: nothing is read that was not asked for") {
    std::uint64_t reads_wanted = 0;
    for (std::uint64_t at = kBytes; at >= 65536; at -= 65536, ++reads_wanted)
      REQUIRE(reads(ahead, *file, at - 65536, 4096));
    CHECK(ahead.file_reads() == reads_wanted);
  }
  SECTION("large ones, and odd ones across what was read ahead") {
    std::uint64_t at = 0;
    for (std::size_t count = 1; at + count <= kBytes; at += count, count = count * 5 % 70001 + 1)
      REQUIRE(reads(ahead, *file, at, count));
  }
}

TEST_CASE("read ahead: not beyond the end that is given, and nothing old after clear()",
          "[core][io]") {
  constexpr std::uint64_t kBytes = 1u << 20;
  const MemoryFileSystem disk;
  const auto file = file_of(disk, kBytes);
  ReadAhead ahead;
  for (std::uint64_t at = 0; at < 65536; at += 4096) REQUIRE(reads(ahead, *file, at, 4096, 65536));
  // What lies behind was not there yet.
  const std::vector<std::byte> other(4096, std::byte{7});
  REQUIRE(file->write_at(65536, other));
  std::vector<std::byte> into(4096);
  REQUIRE(ahead.read(*file, 65536, into, 69632));
  CHECK(into == other);

  REQUIRE(file->write_at(0, other));
  ahead.clear();
  REQUIRE(ahead.read(*file, 0, into, ReadAhead::kAllTheFile));
  CHECK(into == other);
}

TEST_CASE("read ahead: an error further on is not this read's", "[core][io]") {
  const MemoryFileSystem disk;
  const auto file = file_of(disk, 100000);
  ReadAhead ahead;
  std::uint64_t at = 0;
  for (; at + 4096 <= 100000; at += 4096) REQUIRE(reads(ahead, *file, at, 4096));
  std::vector<std::byte> into(4096);
  const auto beyond = ahead.read(*file, at, into, ReadAhead::kAllTheFile);
  REQUIRE_FALSE(beyond);
  CHECK(beyond.error().code == Code::kCorrupt);
  CHECK(beyond.error().text.find("ends at byte 100000") != std::string::npos);
}

TEST_CASE("read ahead: a read that fails is done again, and only what was asked for",
          "[core][io][fault]") {
  const MemoryFileSystem disk;
  file_of(disk, 1u << 20);
  for (std::uint64_t nth = 1; nth < 12; ++nth) {
    CAPTURE(nth);
    const FaultFileSystem faults(disk.opener());
    auto file = faults.opener()("box", OpenMode::kRead);
    REQUIRE(file);
    faults.add({.on = FaultOn::kRead, .nth = nth});
    ReadAhead ahead;
    std::uint64_t failed = 0;
    for (std::uint64_t at = 0; at < (1u << 20); at += 4096)
      failed += reads(ahead, **file, at, 4096) ? 0u : 1u;
    CHECK(failed <= 1);
  }
}

}  // namespace
}  // namespace bento
