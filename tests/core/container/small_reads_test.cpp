// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Small reads of a large record, of which most are answered from memory: what they give is of the
// reader's step all the same, whatever a writer does meanwhile.
#include <catch2/catch_test_macros.hpp>

#include "tests/core/container/container_support.hpp"
#include "tests/support/counted_reads.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/thread_comm.hpp"

namespace bento {
namespace {

using namespace test;

constexpr std::uint64_t kRowElements = 128;
constexpr std::uint64_t kCount =
    3 * 1024;  // rows of 1 KiB: a record of 3 MiB, which is not verified

Box rows(std::uint64_t first, std::uint64_t count) {
  return {Dims{first, 0}, Dims{count, kRowElements}};
}

ContainerOptions options_for(FileOpener opener, std::uint64_t keep = 1) {
  ContainerOptions options = small_options(std::move(opener));
  options.chunk_bytes = 16u << 20;
  options.keep = keep;
  options.lock = Locking::kOff;
  return options;
}

void write_rows(Container& container, DatasetNumber dataset, std::uint64_t count,
                std::uint64_t step) {
  container.note_collective("step", {});
  REQUIRE(container.write(dataset, rows(0, count), 8, bytes_of(band_values(rows(0, count), step))));
}

Result<std::vector<std::uint64_t>> read(Container& container, DatasetNumber dataset,
                                        const Box& box) {
  return read_of_one_step(container, [&]() -> Result<std::vector<std::uint64_t>> {
    std::vector<std::uint64_t> values(box.elements());
    auto* const to = reinterpret_cast<std::byte*>(values.data());
    if (const Record* const one = container.find_one(dataset, box)) {
      BENTO_TRY(container.read(*one, box, 8, box, to));
      return values;
    }
    BENTO_ASSIGN(const RecordLookup lookup, container.find(dataset, box));
    for (const auto& piece : lookup.pieces)
      BENTO_TRY(container.read(lookup.records[piece.record], piece.part, 8, box, to));
    return values;
  });
}

std::unique_ptr<Container> created(const ContainerOptions& options, std::uint64_t datasets = 1) {
  auto made = Container::create("box", false, options, make_self_communicator());
  REQUIRE(made);
  for (std::uint64_t i = 0; i < datasets; ++i) REQUIRE((*made)->declare({}, 8, 2, 0) == i);
  return std::move(*made);
}

std::unique_ptr<Container> opened(const ContainerOptions& options, bool writable = false) {
  auto container = Container::open("box", writable, options, make_self_communicator());
  if (!container) FAIL(container.error().text);
  return std::move(*container);
}

}  // namespace

TEST_CASE("small reads: files are asked seldom", "[core][container]") {
  const MemoryFileSystem disk;
  {
    const auto container = created(options_for(disk.opener()), 2);
    for (const DatasetNumber dataset : {0u, 1u}) write_rows(*container, dataset, kCount, 1);
    REQUIRE(container->close());
  }
  ReadCounts counts;
  const auto container = opened(options_for(counted(disk.opener(), counts)));
  counts = {};
  for (std::uint64_t row = 0; row < kCount; row += 4)
    for (const DatasetNumber dataset : {0u, 1u})
      REQUIRE(read(*container, dataset, rows(row, 4)) == band_values(rows(row, 4), 1));
  // 1536 calls of 4 KiB; each time that data is read, the root is, too.
  CHECK(counts.reads < 96);
}

TEST_CASE("small reads: records that are verified as a whole are read once", "[core][container]") {
  constexpr std::uint64_t kFew = 512;  // rows of 1 KiB
  const MemoryFileSystem disk;
  {
    const auto container = created(options_for(disk.opener()), 2);
    for (const DatasetNumber dataset : {0u, 1u}) write_rows(*container, dataset, kFew, 1);
    REQUIRE(container->close());
  }
  ReadCounts counts;
  const auto container = opened(options_for(counted(disk.opener(), counts)));
  counts = {};
  for (std::uint64_t row = 0; row < kFew; row += 4)
    for (const DatasetNumber dataset : {0u, 1u})
      REQUIRE(read(*container, dataset, rows(row, 4)) == band_values(rows(row, 4), 1));
  CHECK(counts.reads < 32);
}

namespace {

// More than are kept in memory, of 512 KiB each.
constexpr DatasetNumber kMany = 48;
constexpr std::uint64_t kManyRows = 512;

/// Row `row` of each dataset, as of `step`.
void check_row_of_all(Container& container, std::uint64_t row, std::uint64_t step) {
  for (DatasetNumber dataset = 0; dataset < kMany; ++dataset)
    REQUIRE(read(container, dataset, rows(row, 1)) == band_values(rows(row, 1), step + dataset));
}

void write_all(Container& container, std::uint64_t step) {
  for (DatasetNumber dataset = 0; dataset < kMany; ++dataset)
    write_rows(container, dataset, kManyRows, step + dataset);
}

/// Inverts a byte of the record of this dataset.
void damage(const MemoryFileSystem& disk, DatasetNumber dataset, std::uint64_t at) {
  const auto container = opened(options_for(disk.opener()));
  const auto lookup = container->find(dataset, rows(0, 1));
  REQUIRE(lookup);
  const Record& record = lookup->records.at(0);
  const auto& plan = container->plan();
  const std::uint64_t address =
      plan.file(0).address(plan.local_task(record.where.task), record.where.offset) + at;
  auto file = disk.open("box", OpenMode::kReadWrite);
  REQUIRE(file);
  std::array<std::byte, 1> byte{};
  REQUIRE((*file)->read_at(address, byte));
  byte[0] ^= std::byte{0xff};
  REQUIRE((*file)->write_at(address, byte));
}

}  // namespace

TEST_CASE("small reads: parts of many records that were verified are read alone",
          "[core][container][verify]") {
  const MemoryFileSystem disk;
  {
    const auto container = created(options_for(disk.opener()), kMany);
    write_all(*container, 1);
    REQUIRE(container->close());
  }
  for (const auto& [verification, whole_first] : {std::pair(Verification::kSmall, false),
                                                  {Verification::kSmall, true},
                                                  {Verification::kAll, false}}) {
    ReadCounts counts;
    ContainerOptions options = options_for(counted(disk.opener(), counts));
    options.verify = verification;
    const auto container = opened(options);
    const Box first = whole_first ? rows(0, kManyRows) : rows(3, 1);
    for (DatasetNumber dataset = 0; dataset < kMany; ++dataset)
      REQUIRE(read(*container, dataset, first) == band_values(first, 1 + dataset));
    CHECK(counts.bytes > kMany * kManyRows * 1024);
    counts = {};
    for (std::uint64_t row = 10; row < 30; ++row) check_row_of_all(*container, row, 1);
    const std::uint64_t whole = 20 * kMany * kManyRows * 1024;
    if (verification == Verification::kAll)
      CHECK(counts.bytes > whole);
    else
      CHECK(counts.bytes < whole / 50);
  }
}

TEST_CASE("small reads: who stays with a record is given it whole", "[core][container]") {
  const MemoryFileSystem disk;
  {
    const auto container = created(options_for(disk.opener()), kMany);
    write_all(*container, 1);
    REQUIRE(container->close());
  }
  ReadCounts counts;
  const auto container = opened(options_for(counted(disk.opener(), counts)));
  for (std::uint64_t turn = 0; turn < 2; ++turn) {
    counts = {};
    for (DatasetNumber dataset = 0; dataset < kMany; ++dataset)
      for (std::uint64_t n = 0; n < kRowElements; ++n) {
        const Box box{Dims{0, n * 37 % kRowElements}, Dims{kManyRows, 1}};
        REQUIRE(read(*container, dataset, box) == band_values(box, 1 + dataset));
      }
    CHECK(counts.bytes < 4 * kMany * kManyRows * 1024);
  }
}

TEST_CASE("small reads: a record's damage is found when it is read the first time",
          "[core][container][verify]") {
  const MemoryFileSystem disk;
  {
    const auto container = created(options_for(disk.opener()), kMany);
    write_all(*container, 1);
    REQUIRE(container->close());
  }
  const auto before = opened(options_for(disk.opener()));
  check_row_of_all(*before, 3, 1);
  damage(disk, 2, 100 * 1024);
  // It was whole when it was read, and another part of it is.
  CHECK(read(*before, 2, rows(200, 1)) == band_values(rows(200, 1), 3));
  CHECK(read(*before, 2, rows(0, kManyRows)).error().code == Code::kCorrupt);
  const auto after = opened(options_for(disk.opener()));
  for (int i = 0; i < 3; ++i) CHECK(read(*after, 2, rows(200, 1)).error().code == Code::kCorrupt);
}

TEST_CASE("small reads: what was verified is another record after each write and step",
          "[core][container]") {
  const MemoryFileSystem disk;
  auto container = created(options_for(disk.opener()), kMany);
  for (std::uint64_t step = 1; step <= 8; ++step) {
    // Space of the step before the last one is used again.
    write_all(*container, 100 * step);
    for (std::uint64_t row = 0; row < 4; ++row) check_row_of_all(*container, 7 * row, 100 * step);
    // Written anew in its place.
    write_all(*container, 100 * step + 50);
    for (std::uint64_t row = 0; row < 4; ++row)
      check_row_of_all(*container, 7 * row, 100 * step + 50);
    REQUIRE(container->commit());
    for (std::uint64_t row = 0; row < 4; ++row)
      check_row_of_all(*container, 7 * row, 100 * step + 50);
    if (step == 4) {
      REQUIRE(container->close());
      container = opened(options_for(disk.opener()), true);
    }
  }
}

TEST_CASE("small reads: what builds the native view asks files seldom", "[core][container]") {
  constexpr DatasetNumber kDatasets = 1000;
  const MemoryFileSystem disk;
  ReadCounts counts;
  const auto container = created(options_for(counted(disk.opener(), counts)), kDatasets);
  for (DatasetNumber dataset = 0; dataset < kDatasets; ++dataset) {
    const Box box = rows(dataset, 1);
    REQUIRE(container->write(dataset, box, 8, bytes_of(band_values(box, 1))));
  }
  DatasetNumber right = 0;
  REQUIRE(container->close([&](ViewJob& job) -> Result<NativeView> {
    counts = {};
    for (; right < kDatasets; ++right) {
      const Box box = rows(right, 1);
      std::vector<std::uint64_t> values(box.elements());
      BENTO_ASSIGN(const RecordLookup seen, job.committed.find(right, box));
      for (const Piece& piece : seen.pieces)
        BENTO_TRY(job.reader.read(seen.records[piece.record], 8, piece.part, box,
                                  reinterpret_cast<std::byte*>(values.data())));
      if (values != band_values(box, 1)) break;
    }
    NativeView view;
    view.superblocks.resize(1);
    return view;
  }));
  CHECK(right == kDatasets);
  CHECK(counts.reads < kDatasets / 4);
}

TEST_CASE("small reads: a session that changes one of many datasets asks files seldom",
          "[core][container]") {
  constexpr DatasetNumber kDatasets = 2000;
  const MemoryFileSystem disk;
  {
    const auto container = created(options_for(disk.opener()), kDatasets);
    for (DatasetNumber dataset = 0; dataset < kDatasets; ++dataset) {
      REQUIRE(container->write(dataset, rows(0, 1), 8, bytes_of(band_values(rows(0, 1), 1))));
      if (dataset % 20 == 0) REQUIRE(container->commit());  // leaves pages of the index behind
    }
    REQUIRE(container->close());
  }
  ReadCounts counts;
  const auto container = opened(options_for(counted(disk.opener(), counts)), true);
  REQUIRE(container->write(5, rows(0, 1), 8, bytes_of(band_values(rows(0, 1), 2))));
  REQUIRE(container->close());
  CHECK(counts.reads < kDatasets);
  CHECK(read(*opened(options_for(disk.opener())), 5, rows(0, 1)) == band_values(rows(0, 1), 2));
}

TEST_CASE("small reads: a writer goes on in the middle of them", "[core][container][live]") {
  for (const std::uint64_t keep : {1u, 3u}) {
    for (const std::uint64_t before : {0u, 1u, 5u, 100u}) {
      CAPTURE(keep, before);
      const MemoryFileSystem disk;
      const auto writer = created(options_for(disk.opener(), keep));
      for (std::uint64_t step = 1; step <= 4; ++step) {
        write_rows(*writer, 0, kCount, step);
        REQUIRE(writer->commit());
      }
      const auto reader = opened(options_for(disk.opener()));
      REQUIRE(reader->step().number() == 4);
      bool gone = false;
      std::uint64_t step = 4;
      for (std::uint64_t n = 0; n < kCount / 4; ++n) {
        if (n >= before && step < 10) {
          write_rows(*writer, 0, kCount, ++step);
          REQUIRE(writer->commit());
        }
        const Box box = rows(4 * n, 4);
        const auto values = read(*reader, 0, box);
        if (!values) {
          CHECK(values.error().code == Code::kBusy);
          gone = true;
          break;
        }
        // Before it has given out anything, a reader whose step is gone goes on to the newest one.
        const std::uint64_t as_of = reader->step().number();
        CHECK(as_of == (before == 0 && keep == 1 ? 5 : 4));
        REQUIRE(*values == band_values(box, as_of));
      }
      CHECK(gone);
    }
  }
}

TEST_CASE("small reads: a writer reads what it has just written", "[core][container]") {
  const MemoryFileSystem disk;
  const auto container = created(options_for(disk.opener()));
  for (std::uint64_t step = 1; step <= 6; ++step) {
    write_rows(*container, 0, kCount, step);
    // A few rows lie over the large record.
    const Box some = rows(100 * step, 3);
    container->note_collective("some", {});
    REQUIRE(container->write(0, some, 8, bytes_of(band_values(some, 50 + step))));
    for (const bool committed : {false, true}) {
      if (committed) REQUIRE(container->commit());
      for (std::uint64_t row = 0; row < kCount; row += 4) {
        const Box box = rows(row, 4);
        auto wanted = band_values(box, step);
        for (std::uint64_t i = 0; i < 4; ++i)
          if (row + i >= some.start[0] && row + i < some.start[0] + 3)
            for (std::uint64_t column = 0; column < kRowElements; ++column)
              wanted[i * kRowElements + column] = value_at(row + i, column, 50 + step);
        REQUIRE(read(*container, 0, box) == wanted);
      }
    }
  }
}

}  // namespace bento
