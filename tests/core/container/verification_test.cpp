// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What verify= finds in large records, what it reads for that, and that the hashes of their
/// granules are right whatever happens to a record.
#include <algorithm>
#include <random>

#include <catch2/catch_test_macros.hpp>

#include "core/fti/granules.hpp"
#include "core/offline/recover.hpp"
#include "core/offline/verify_streams.hpp"
#include "core/stream/granule_table.hpp"
#include "tests/core/container/container_support.hpp"
#include "tests/support/counted_reads.hpp"
#include "tests/support/memory_file.hpp"

namespace bento {
namespace {

using namespace test;
using fti::HashKind;
using fti::kGranuleBytes;

constexpr std::uint64_t kColumnBytes = 1024;  // a row of elements of 8 bytes

ContainerOptions options_for(const FileOpener& opener, Verification verify,
                             HashKind hash = HashKind::kXxh3) {
  ContainerOptions options = small_options(opener);
  options.chunk_bytes = 16u << 20;
  options.verify = verify;
  options.stream.hash = hash;
  return options;
}

Box rows(std::uint64_t first, std::uint64_t count) {
  return {Dims{first, 0}, Dims{count, kColumnBytes / 8}};
}

std::vector<std::uint64_t> values_of(const Box& box, std::uint64_t step) {
  return band_values(box, step);
}

std::unique_ptr<Container> opened(const ContainerOptions& options, bool writable = false) {
  auto container = Container::open("box", writable, options, make_self_communicator());
  if (!container) FAIL(container.error().text);
  return std::move(*container);
}

/// The box's values, or the error of the first record that cannot be read.
Result<std::vector<std::uint64_t>> read(Container& container, const Box& box) {
  std::vector<std::uint64_t> values(box.elements());
  BENTO_ASSIGN(const RecordLookup lookup, container.find(0, box));
  for (const auto& piece : lookup.pieces)
    BENTO_TRY(container.read(lookup.records[piece.record], piece.part, 8, box,
                             reinterpret_cast<std::byte*>(values.data())));
  return values;
}

/// A closed container with one record of so many rows.
MemoryFileSystem written(std::uint64_t count, HashKind hash) {
  MemoryFileSystem disk;
  auto container = Container::create("box", false, options_for(disk.opener(), {}, hash),
                                     make_self_communicator());
  REQUIRE(container);
  const DatasetNumber dataset = (*container)->declare({}, 8, 2, 0);
  const Box box = rows(0, count);
  REQUIRE((*container)->write(dataset, box, 8, bytes_of(values_of(box, 1))));
  REQUIRE((*container)->close());
  return disk;
}

struct Place {
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t header_distance;
};
Place place_of(const MemoryFileSystem& disk) {
  const auto container = opened(options_for(disk.opener(), Verification::kSmall));
  const auto lookup = container->find(0, rows(0, 1));
  REQUIRE(lookup);
  REQUIRE(lookup->records.size() == 1);
  const Record& record = lookup->records[0];
  const auto& plan = container->plan();
  return {plan.file(0).address(plan.local_task(record.where.task), record.where.offset),
          record.stored_bytes, record.header_distance};
}

void flip(const MemoryFileSystem& disk, std::uint64_t address, unsigned bit) {
  auto file = disk.open("box", OpenMode::kReadWrite);
  REQUIRE(file);
  std::array<std::byte, 1> byte{};
  REQUIRE((*file)->read_at(address, byte));
  byte[0] ^= static_cast<std::byte>(1u << bit);
  REQUIRE((*file)->write_at(address, byte));
}

bool reads(const MemoryFileSystem& disk, Verification verify, const Box& box) {
  const auto container = opened(options_for(disk.opener(), verify));
  const auto values = read(*container, box);
  if (!values) {
    CHECK(values.error().code == Code::kCorrupt);
    CHECK(values.error().text.find("'box'") != std::string::npos);
  }
  return values.has_value();
}

TEST_CASE("verification: one bit anywhere in a large record", "[core][container][verify]") {
  // Not a whole number of granules.
  constexpr std::uint64_t kCount = 3 * 1024 + 300;
  for (const HashKind hash : {HashKind::kXxh3, HashKind::kMd5}) {
    const MemoryFileSystem disk = written(kCount, hash);
    const Place place = place_of(disk);
    REQUIRE(place.bytes == kCount * kColumnBytes);
    const Box whole = rows(0, kCount);
    const auto all = read(*opened(options_for(disk.opener(), Verification::kAll)), whole);
    REQUIRE(all);
    REQUIRE(*all == values_of(whole, 1));
    const std::uint64_t table = granule_table_bytes(hash, place.bytes);
    REQUIRE(table == (hash == HashKind::kMd5 ? 80 : 64));
    std::mt19937 random(5);
    const auto check = [&](std::uint64_t at) {
      const unsigned bit = random() % 8;
      CAPTURE(at, bit);
      flip(disk, place.address + at, bit);
      CHECK_FALSE(reads(disk, Verification::kAll, whole));
      // Four rows in the granule of the byte; of the table, any.
      const std::uint64_t row = std::min(at / kColumnBytes / 1024 * 1024 + 7, kCount - 4);
      CHECK_FALSE(reads(disk, Verification::kAll, rows(row, 4)));
      if (at < place.bytes) {
        const std::uint64_t other = (row / 1024 + 1) % 4 * 1024;
        CHECK(reads(disk, Verification::kAll, rows(other, 4)));
      }
      CHECK(reads(disk, Verification::kSmall, whole));
      CHECK(reads(disk, Verification::kNone, rows(row, 4)));
      flip(disk, place.address + at, bit);
    };
    for (std::uint64_t at = 0; at < place.bytes; at += 99991) check(at);
    check(place.bytes - 1);
    for (std::uint64_t at = 0; at < table; ++at) check(place.bytes + at);
    CHECK(reads(disk, Verification::kAll, whole));
    // An offline check finds the table's bits, too.
    flip(disk, place.address + place.bytes + 20, 3);
    const auto verdict = verify_streams("box", disk.opener());
    REQUIRE(verdict);
    CHECK_FALSE(verdict->sound());
  }
}

TEST_CASE("verification: a part is read with its granules and no more",
          "[core][container][verify]") {
  constexpr std::uint64_t kCount = 8 * 1024;
  const MemoryFileSystem disk = written(kCount, HashKind::kXxh3);
  ReadCounts counts;
  const auto cost = [&](Verification verify, const Box& box) {
    const auto container = opened(options_for(counted(disk.opener(), counts), verify));
    const auto lookup = container->find(0, box);
    REQUIRE(lookup);
    std::vector<std::uint64_t> values(box.elements());
    counts = {};
    for (const auto& piece : lookup->pieces)
      REQUIRE(container->read(lookup->records[piece.record], piece.part, 8, box,
                              reinterpret_cast<std::byte*>(values.data())));
    CHECK(values == values_of(box, 1));
    return counts.bytes;
  };
  constexpr std::uint64_t kHeader = fti::v11::kDbVarBytes + 8 * 16;  // the dbvar and the table
  CHECK(cost(Verification::kAll, rows(2000, 4)) == kHeader + kGranuleBytes);
  CHECK(cost(Verification::kAll, rows(2047, 2)) == kHeader + 2 * kGranuleBytes);
  CHECK(cost(Verification::kAll, rows(0, kCount)) == kHeader + 8 * kGranuleBytes);
  CHECK(cost(Verification::kSmall, rows(2000, 4)) == 4 * kColumnBytes);
  CHECK(cost(Verification::kNone, rows(0, kCount)) == 8 * kGranuleBytes);
  // A column, through windows.
  CHECK(cost(Verification::kAll, {Dims{100, 3}, Dims{5000, 2}}) == kHeader + 5 * kGranuleBytes);
}

TEST_CASE("verification: small records", "[core][container][verify]") {
  const MemoryFileSystem disk = written(1024, HashKind::kXxh3);  // one granule: no table
  const Place place = place_of(disk);
  flip(disk, place.address + 5000, 1);
  CHECK_FALSE(reads(disk, Verification::kAll, rows(500, 4)));
  CHECK_FALSE(reads(disk, Verification::kSmall, rows(500, 4)));
  CHECK(reads(disk, Verification::kNone, rows(500, 4)));
  CHECK(reads(disk, Verification::kNone, rows(0, 1024)));
}

TEST_CASE("verification: what has no hash is refused by verify=all only",
          "[core][container][verify]") {
  for (const std::uint64_t count : {100u, 3000u}) {
    const MemoryFileSystem disk = written(count, HashKind::kNone);
    CHECK(reads(disk, Verification::kSmall, rows(0, count)));
    const auto container = opened(options_for(disk.opener(), Verification::kAll));
    const auto values = read(*container, rows(10, 4));
    REQUIRE_FALSE(values);
    CHECK(values.error().code == Code::kUnsupported);
    for (const char* const word : {"verify=all", "'box'", "checksum=none"})
      CHECK(values.error().text.find(word) != std::string::npos);
  }
}

TEST_CASE("verification: data that fits a container with its table", "[core][container][verify]") {
  for (const StreamRules& rule : {StreamRules(HashKind::kXxh3), StreamRules(HashKind::kMd5),
                                  StreamRules(HashKind::kMd5, true)})
    for (std::uint64_t granules = 1; granules < 200; granules += granules / 8 + 1)
      for (std::uint64_t near = 0; near < 300; ++near) {
        const std::uint64_t capacity = granules * kGranuleBytes + near - 100;
        const std::uint64_t most = data_bytes_within(rule, capacity);
        CAPTURE(granules, capacity, most);
        REQUIRE(most + granule_table_bytes(rule, most) <= capacity);
        REQUIRE(most + 1 + granule_table_bytes(rule, most + 1) > capacity);
      }
}

TEST_CASE("verification: space that is used again", "[core][container][verify]") {
  constexpr std::uint64_t kCount = 6 * 1024;
  for (const HashKind hash : {HashKind::kXxh3, HashKind::kMd5}) {
    const MemoryFileSystem disk;
    const ContainerOptions options = options_for(disk.opener(), Verification::kAll, hash);
    auto created = Container::create("box", false, options, make_self_communicator());
    REQUIRE(created);
    std::unique_ptr<Container> container = std::move(*created);
    const DatasetNumber dataset = container->declare({}, 8, 2, 0);
    std::vector<std::uint64_t> wanted(kCount * kColumnBytes / 8);
    std::mt19937 random(11);
    std::size_t size = 0;
    for (std::uint64_t step = 1; step <= 24; ++step) {
      // The same pieces in most steps, others in some, so that blocks are taken in part.
      std::uint64_t first = 0;
      while (first < kCount) {
        const std::uint64_t count =
            std::min<std::uint64_t>(step % 4 == 3 ? 500 + random() % 2500 : 2048, kCount - first);
        const Box box = rows(first, count);
        const auto values = values_of(box, step);
        REQUIRE(container->write(dataset, box, 8, bytes_of(values)));
        copy_box(box, box, bytes_of(values).data(), rows(0, kCount),
                 reinterpret_cast<std::byte*>(wanted.data()), 8);
        first += count;
      }
      const auto own = read(*container, rows(0, kCount));
      REQUIRE(own);
      REQUIRE(*own == wanted);
      if (step % 6 == 0) {
        REQUIRE(container->close());
        container = opened(options, true);
      } else {
        REQUIRE(container->commit());
      }
      const auto values = read(*opened(options), rows(0, kCount));
      INFO((values ? std::string() : values.error().text));
      REQUIRE(values);
      REQUIRE(*values == wanted);
      if (step == 12) size = disk.content("box").size();
    }
    REQUIRE(container->close());
    const auto verdict = verify_streams("box", disk.opener());
    REQUIRE(verdict);
    INFO((verdict->findings.empty() ? std::string() : verdict->findings[0].finding.text));
    CHECK(verdict->sound());
    CHECK(disk.content("box").size() <= size + (32u << 20));
  }
}

TEST_CASE("verification: a record whose header was rebuilt", "[core][container][verify]") {
  // Tables of 3 and of 4 hashes: the latter have the size of a container record.
  for (const std::uint64_t count : {3 * 1024u, 3 * 1024u + 1u}) {
    const MemoryFileSystem disk;
    const ContainerOptions options = options_for(disk.opener(), Verification::kAll);
    auto container = Container::create("box", false, options, make_self_communicator());
    REQUIRE(container);
    const DatasetNumber dataset = (*container)->declare({}, 8, 2, 0);
    for (std::uint64_t i = 0; i < 3; ++i) {
      const Box box = rows(i * count, count);
      REQUIRE((*container)->write(dataset, box, 8, bytes_of(values_of(box, 1))));
    }
    REQUIRE((*container)->close());
    const Place place = place_of(disk);
    for (std::uint64_t at = 0; at < 64; ++at)
      flip(disk, place.address - place.header_distance + at, at % 8);
    const auto report = recover("box", options);
    REQUIRE(report);
    CHECK(report->rebuilt.size() == 1);
    INFO((report->verdict.sound() ? std::string() : report->verdict.findings[0].text));
    CHECK(report->sound());
    const Box whole = rows(0, 3 * count);
    const auto values = read(*opened(options), whole);
    INFO((values ? std::string() : values.error().text));
    REQUIRE(values);
    CHECK(*values == values_of(whole, 1));
  }
}

TEST_CASE("verification: large filtered records", "[core][container][verify]") {
  const MemoryFileSystem disk;
  const ContainerOptions options = options_for(disk.opener(), Verification::kAll);
  auto container = Container::create("box", false, options, make_self_communicator());
  REQUIRE(container);
  const DatasetNumber dataset = (*container)->declare({}, 8, 2, 0);
  const Box box = rows(0, 8 * 1024);
  const auto stored = values_of(rows(0, 3 * 1024 + 5), 1);
  REQUIRE((*container)->write_filtered(dataset, box, 0, bytes_of(stored)));
  REQUIRE((*container)->close());
  const auto read_it = [&](Verification verify) {
    const auto reader = opened(options_for(disk.opener(), verify));
    const auto lookup = reader->find(0, rows(4, 1));
    REQUIRE(lookup);
    return reader->read_stored(lookup->records.at(0));
  };
  const auto good = read_it(Verification::kAll);
  REQUIRE(good);
  CHECK(std::ranges::equal(*good, bytes_of(stored)));
  flip(disk, place_of(disk).address + 2500000, 0);
  CHECK_FALSE(read_it(Verification::kAll));
  CHECK_FALSE(read_it(Verification::kSmall));
  CHECK(read_it(Verification::kNone));
  const auto verdict = verify_streams("box", disk.opener());
  REQUIRE(verdict);
  CHECK_FALSE(verdict->sound());
}

}  // namespace
}  // namespace bento
