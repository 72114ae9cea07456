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
