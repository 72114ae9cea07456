// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A record that is found at once is the one that the whole search finds; where another one may
/// count, nothing is found at once.
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "core/steps/step_commit.hpp"
#include "core/steps/step_index.hpp"
#include "tests/core/steps/hostile_support.hpp"
#include "tests/core/steps/step_support.hpp"

namespace bento {
namespace {

using namespace step_test;

/// An index of one dataset of doubles in one dimension.
struct Written {
  MemoryBlobs blobs;
  BlobRef root;
  std::uint64_t steps = 0;

  void commit(const std::vector<Record>& records, std::vector<ExtentEvent> extents = {}) {
    ContributionBuilder builder;
    for (const Record& record : records) REQUIRE(builder.add(record, 8));
    const auto bytes = builder.encode();
    StepCommit commit;
    commit.step = AbsoluteStep(++steps);
    if (steps == 1) commit.declared = {{0, {}, 8, 1, 0}};
    commit.extents = std::move(extents);
    commit.contribution = bytes;
    const auto done = commit_step(blobs, blobs, root, commit);
    REQUIRE(done);
    root = done->root;
  }

  /// Its first element and rank; empty if none is found at once.
  std::vector<std::uint64_t> only(std::uint64_t start, std::uint64_t count,
                                  std::uint64_t as_of = 0) {
    const auto index = StepIndex::open(blobs, root, AbsoluteStep(as_of == 0 ? steps : as_of));
    REQUIRE(index);
    const Box selection{Dims{start}, Dims{count}};
    Record record;
    const auto found = index->find_only(0, selection, blobs, record);
    REQUIRE(found);
    if (!*found) return {};
    const auto all = index->find(0, selection);
    REQUIRE(all);
    REQUIRE(all->pieces.size() == 1);
    REQUIRE(all->uncovered.empty());
    const Record& same = all->records[all->pieces.front().record].record;
    CHECK(record.box == same.box);
    CHECK(record.order == same.order);
    CHECK(record.where == same.where);
    CHECK(record.stored_bytes == same.stored_bytes);
    CHECK(record.header_distance == same.header_distance);
    return {record.box.start[0], record.order.rank};
  }
};

using Found = std::vector<std::uint64_t>;

std::vector<Record> slabs(std::uint32_t ranks, std::uint64_t elements) {
  std::vector<Record> records;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    records.push_back(
        record_of(0, grid_box(Cut::kFirstLarger, Dims{elements}, Dims{ranks}, rank), rank, 1));
  return records;
}

TEST_CASE("find only: the slab of a rank, or a part of it", "[core][index][step]") {
  for (const std::uint32_t ranks : {1u, 2u, 4u, 7u, 32u}) {
    Written written;
    written.commit(slabs(ranks, 1000));
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const Box box = grid_box(Cut::kFirstLarger, Dims{1000}, Dims{ranks}, rank);
      CHECK(written.only(box.start[0], box.count[0]) == Found{box.start[0], rank});
      CHECK(written.only(box.start[0] + 3, 5) == Found{box.start[0], rank});
    }
  }
}

TEST_CASE("find only: not what two records show, or nobody has written", "[core][index][step]") {
  Written written;
  written.commit(slabs(4, 1000));
  CHECK(written.only(249, 2).empty());
  CHECK(written.only(0, 1000).empty());
  CHECK(written.only(990, 20).empty());
  CHECK(written.only(2000, 1).empty());
  Written apart;
  apart.commit({record_of(0, {Dims{0}, Dims{10}}, 0, 1), record_of(0, {Dims{30}, Dims{10}}, 1, 1)});
  CHECK(apart.only(0, 10) == Found{0, 0});
  CHECK(apart.only(5, 10).empty());
  CHECK(apart.only(15, 5).empty());
}

TEST_CASE("find only: not where records overlap", "[core][index][step]") {
  Written written;
  written.commit({record_of(0, {Dims{0}, Dims{100}}, 0, 1),
                  record_of(0, {Dims{50}, Dims{100}}, 1, 2),
                  record_of(0, {Dims{150}, Dims{50}}, 2, 2)});
  CHECK(written.only(60, 10).empty());
  CHECK(written.only(10, 10) == Found{0, 0});
  CHECK(written.only(110, 10) == Found{50, 1});
}

TEST_CASE("find only: not in a dataset of several steps", "[core][index][step]") {
  Written written;
  written.commit(slabs(4, 1000));
  written.commit({record_of(0, {Dims{0}, Dims{10}}, 3, 1)});
  CHECK(written.only(0, 10).empty());
  CHECK(written.only(250, 250).empty());
  // As of the first step too, since the index knows of both.
  CHECK(written.only(250, 250, 1).empty());
}

TEST_CASE("find only: not before the dataset was written", "[core][index][step]") {
  Written written;
  written.commit({});
  written.commit(slabs(1, 100));
  CHECK(written.only(0, 100) == Found{0, 0});
  CHECK(written.only(0, 100, 1).empty());
}

TEST_CASE("find only: not where the extent has changed in the same step", "[core][index][step]") {
  Written written;
  written.commit({record_of(0, {Dims{0}, Dims{100}}, 0, 1)}, {{0, 5, Dims{50}}});
  CHECK(written.only(60, 10).empty());
  CHECK(written.only(0, 10).empty());
}

TEST_CASE("find only: a selection beyond all elements is none", "[core][index][step]") {
  Written written;
  written.commit(slabs(1, 100));
  CHECK(written.only(~0ull - 5, 3).empty());
  const auto index = StepIndex::open(written.blobs, written.root);
  REQUIRE(index);
  Record record;
  CHECK_FALSE(*index->find_only(0, {Dims{0, 0}, Dims{1, 1}}, written.blobs, record));
  CHECK_FALSE(*index->find_only(1, {Dims{0}, Dims{1}}, written.blobs, record));
}

TEST_CASE("find only: a record that no dataset can have is corrupt", "[core][index][step]") {
  MemoryBlobs blobs;
  const RowShape shape{1, 8};
  Row row = row_of(record_of(0, {Dims{0}, Dims{100}}, 0, 1), 8);
  row[shape.field(kFieldExcess)] = 8;  // a plain record of more bytes than its elements have
  const RecordRun run(shape.width(), std::span<const std::uint64_t>(row).first(shape.width()));
  const auto ref = blobs.append(segment_bytes(1, 8, run_page(run)));
  REQUIRE(ref);
  const auto segment = StepSegment::open(blobs, *ref);
  REQUIRE(segment);
  Record record;
  const auto found = segment->find_only({Dims{0}, Dims{10}}, record);
  REQUIRE_FALSE(found);
  CHECK(found.error().code == Code::kCorrupt);
}

TEST_CASE("find only: a page with something left over is not believed", "[core][index][step]") {
  MemoryBlobs blobs;
  const RowShape shape{1, 8};
  const Row row = row_of(record_of(0, {Dims{0}, Dims{100}}, 0, 1), 8);
  const auto columns = std::span<const std::uint64_t>(row).first(shape.width());
  const std::size_t first = 0;
  for (auto page : {run_page(RecordRun(shape.width(), columns)),
                    encode_record_page(shape, columns, {&first, 1})}) {
    Row found;
    CHECK(find_only_record(page, shape, {Dims{0}, Dims{10}}, found));
    page.push_back(std::byte{0});
    CHECK_FALSE(find_only_record(page, shape, {Dims{0}, Dims{10}}, found));
    for (std::size_t length = 0; length + 1 < page.size(); ++length)
      CHECK_FALSE(
          find_only_record(std::span(page).first(length), shape, {Dims{0}, Dims{10}}, found));
  }
}

}  // namespace
}  // namespace bento
