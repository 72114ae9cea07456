// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// An index made to deceive, with all its checksums right: each question ends soon, in little
// memory, and in an answer that nothing behind it has to doubt.
#include <chrono>
#include <map>

#include <catch2/catch_test_macros.hpp>

#include "core/records/index.hpp"
#include "core/steps/step_commit.hpp"
#include "core/steps/step_index.hpp"
#include "tests/core/steps/hostile_support.hpp"
#include "tests/core/steps/step_support.hpp"

namespace bento {
namespace {

using namespace step_test;

/// Gives other bytes for some blobs and vouches for them.
class Forger : public SegmentSource {
 public:
  explicit Forger(MemoryBlobs& below) : below_(below) {}
  Result<Blob> read(const BlobRef& ref) override {
    ++reads;
    const auto found = forged_.find(ref.position);
    if (found == forged_.end()) return below_.read(ref);
    return std::make_shared<const std::vector<std::byte>>(found->second);
  }
  Result<std::uint64_t> stored_bytes() override { return below_.stored_bytes(); }
  void put(const BlobRef& ref, std::vector<std::byte> bytes) {
    forged_[ref.position] = std::move(bytes);
  }
  std::uint64_t reads = 0;

 private:
  MemoryBlobs& below_;
  std::map<std::uint64_t, std::vector<std::byte>> forged_;
};

/// One step, of one dataset of 40 elements of 8 bytes, in one record.
struct Stored {
  MemoryBlobs blobs;
  BlobRef root;
  BlobRef segment;

  Stored() {
    ContributionBuilder builder;
    REQUIRE(builder.add(record_of(0, {Dims{0}, Dims{40}}, 0, 1), 8));
    const auto bytes = builder.encode();
    StepCommit commit;
    commit.step = AbsoluteStep(1);
    commit.declared = {{0, {}, 8, 1, 0}};
    commit.contribution = bytes;
    const auto done = commit_step(blobs, blobs, {}, commit);
    REQUIRE(done);
    root = done->root;
    StepIndex::BlobVisitor visitor;
    visitor.blob = [&](const BlobRef& ref) -> Status {
      if (StepSegment::open(blobs, ref)) segment = ref;
      return {};
    };
    visitor.payload = [](std::span<const std::byte>) -> Status { return {}; };
    REQUIRE(StepIndex::visit_blobs(blobs, root, visitor));
    REQUIRE(segment.bytes != 0);
  }
};

Code code_of(const Result<StepLookup>& found) {
  REQUIRE_FALSE(found);
  return found.error().code;
}

TEST_CASE("hostile index: a plain record has the bytes of its elements", "[core][index][step]") {
  const RowShape shape{1, 8};
  const Record good = record_of(0, {Dims{0}, Dims{1000}}, 0, 1);
  Row row = row_of(good, 8);
  const auto columns = std::span<const std::uint64_t>(row).first(shape.width());
  REQUIRE(from_row(shape, 0, columns));
  // 1000 bytes for 1000 elements of 8: a read of all of them would go 7000 bytes too far.
  row[shape.field(kFieldExcess)] = 0 - std::uint64_t{7000};
  CHECK_FALSE(from_row(shape, 0, columns));
  row[shape.field(kFieldExcess)] = 8;
  CHECK_FALSE(from_row(shape, 0, columns));
  row[shape.field(kFieldEncoding)] = static_cast<std::uint64_t>(Encoding::kFiltered);
  CHECK(from_row(shape, 0, columns));
  row[shape.field(kFieldExcess)] = 0 - std::uint64_t{8001};
  CHECK_FALSE(from_row(shape, 0, columns));
  // Elements that are countable, whose bytes are not.
  row = row_of(good, 8);
  row[1] = 1ull << 61;
  CHECK_FALSE(from_row(shape, 0, columns));
}

TEST_CASE("hostile index: a segment is held against the dataset's declaration",
          "[core][index][step]") {
  Stored stored;
  Forger forger(stored.blobs);
  const auto index = StepIndex::open(forger, stored.root);
  REQUIRE(index);
  const Box all{Dims{0}, Dims{40}};
  REQUIRE(index->find(0, all));
  Record record = record_of(0, all, 0, 1);
  record.stored_bytes = 40;
  const RecordRun narrow(RowShape{1, 1}.width(), row_of(record, 1));
  forger.put(stored.segment, segment_bytes(1, 1, run_page(narrow)));
  CHECK(code_of(index->find(0, all)) == Code::kCorrupt);
  CHECK_FALSE(index->segment(0, AbsoluteStep(1)));
  record = record_of(0, {Dims{0, 0}, Dims{40, 1}}, 0, 1);
  const RecordRun flat(RowShape{2, 8}.width(), row_of(record, 8));
  forger.put(stored.segment, segment_bytes(2, 8, run_page(flat)));
  CHECK(code_of(index->find(0, all)) == Code::kCorrupt);
}

TEST_CASE("hostile index: pages that share children end the question", "[core][index][step]") {
  Stored stored;
  Forger forger(stored.blobs);
  const Box all{Dims{0}, Dims{40}};
  const RowShape shape{1, 8};
  auto page = stored.blobs.append(encode_record_page(shape, {}, {}));
  for (unsigned depth = 1; depth < kMaxPageDepth; ++depth) {
    REQUIRE(page);
    const std::vector<PageEntry> children(kPageChildren, PageEntry{*page, 1, all});
    page = stored.blobs.append(encode_inner_page(children));
  }
  REQUIRE(page);
  forger.put(stored.segment, segment_bytes(1, 8, {}, *page));
  const auto index = StepIndex::open(forger, stored.root);
  REQUIRE(index);
  CHECK(code_of(index->find(0, all)) == Code::kCorrupt);
  CHECK(forger.reads < 50000);

  StepIndex::BlobVisitor visitor;
  visitor.blob = [](const BlobRef&) -> Status { return {}; };
  visitor.payload = [](std::span<const std::byte>) -> Status { return {}; };
  CHECK_FALSE(StepIndex::visit_blobs(forger, stored.root, visitor));
  CHECK(forger.reads < 100000);
}

TEST_CASE("hostile index: an array whose pages are one page ends the list of datasets",
          "[core][index][step]") {
  MemoryBlobs blobs;
  ByteWriter leaf;
  leaf.u8(0);
  leaf.u16(0);
  const auto empty = blobs.append(leaf.view());
  REQUIRE(empty);
  StepIndexRoot root;
  root.newest = root.oldest = AbsoluteStep(1);
  root.datasets.levels = 16;
  root.datasets.ref = stacked_pages(blobs, *empty, 1);
  const auto stored = blobs.append(encode(root));
  REQUIRE(stored);
  Forger counting(blobs);
  const auto index = StepIndex::open(counting, *stored);
  REQUIRE(index);
  CHECK_FALSE(index->datasets());
  CHECK(counting.reads < 100000);
}

TEST_CASE("hostile index: 2^60 steps that are one step end the list of steps",
          "[core][index][step]") {
  MemoryBlobs blobs;
  ByteWriter step;
  step.varint(0);
  const auto one = blobs.append(step.view());
  REQUIRE(one);
  StepIndexRoot root;
  root.newest = AbsoluteStep(1ull << 60);
  root.oldest = AbsoluteStep(1);
  root.steps.levels = 16;
  root.steps.ref = stacked_pages(blobs, *one, 0);
  const auto stored = blobs.append(encode(root));
  REQUIRE(stored);
  Forger counting(blobs);
  const auto index = StepIndex::open(counting, *stored);
  REQUIRE(index);
  REQUIRE(index->step(AbsoluteStep(77)));
  std::uint64_t seen = 0;
  CHECK_FALSE(index->visit_steps([&](AbsoluteStep, const StepInfo&) -> Status {
    ++seen;
    return {};
  }));
  CHECK(seen < 100000);
  CHECK(counting.reads < 200000);
}

TEST_CASE("hostile index: a hundred thousand changes of extent do not slow each record down",
          "[core][index]") {
  constexpr std::uint64_t kMany = 100000;
  Index index;
  DatasetDeclaration declaration;
  declaration.rank = 1;
  index.declare(declaration);
  for (std::uint64_t i = 1; i <= kMany; ++i) REQUIRE(index.clip({0, i, Dims{10 + i}}));
  Record record;
  record.box = {Dims{0}, Dims{1u << 20}};
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < kMany; ++i) {
    record.order.collective = i;
    REQUIRE(index.add(record));
  }
  // One by one it would be 5 * 10^9 steps.
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
  CHECK(index.visible_corners(0)[2 * 41 + 1] == 10 + 42);
  CHECK(index.clip_of(0) == Dims{11});
}

TEST_CASE("hostile index: a run of 2^40 records is not believed", "[core][index][step]") {
  Stored stored;
  Forger forger(stored.blobs);
  const Box all{Dims{0}, Dims{40}};
  Record record = record_of(0, all, 0, 1);
  RecordRun run(RowShape{1, 8}.width(), row_of(record, 8));
  ++record.order.collective;
  run.push(row_of(record, 8));
  for (int doubling = 0; doubling < 39; ++doubling) run.append(RecordRun(run));
  REQUIRE(run.records() == 1ull << 40);
  forger.put(stored.segment, segment_bytes(1, 8, run_page(run)));
  const auto index = StepIndex::open(forger, stored.root);
  REQUIRE(index);
  FindOptions options;
  options.budget = {1u << 16, ~0ull};
  CHECK(code_of(index->find(0, all, options)) == Code::kUnsupported);
  options.budget = {1u << 28, 1000};
  CHECK(code_of(index->find(0, all, options)) == Code::kUnsupported);
}

TEST_CASE("hostile index: planes that cross in many dimensions leave no endless list of pieces",
          "[core][index]") {
  constexpr unsigned kRank = 32;
  const Box all{Dims(kRank), Dims(kRank, 3)};
  std::vector<Candidate> planes;
  for (unsigned d = 0; d < kRank; ++d) {
    Candidate plane{d, {1, d, 0}, all};
    plane.visible.start[d] = 1;
    plane.visible.count[d] = 1;
    planes.push_back(plane);
  }
  QueryBudget budget{100000};
  Lookup out;
  const auto done = resolve_latest(all, planes, budget, out);
  REQUIRE_FALSE(done);
  CHECK(done.error().code == Code::kUnsupported);
  CHECK(out.pieces.size() < 2000000);
  budget = {1u << 20, ~0ull, 3000};
  out = {};
  REQUIRE_FALSE(resolve_latest(all, planes, budget, out));
  CHECK(out.pieces.size() + out.uncovered.size() < 10000);
}

TEST_CASE("hostile index: differences and tokens of a run have an end", "[core][index]") {
  ByteWriter out;
  for (unsigned f = 0; f < RowShape{1, 8}.width(); ++f) out.varint(0);
  out.varint(1u << 20);
  out.zeros(2u << 20);
  ByteReader in(out.view());
  CHECK_FALSE(RecordRun::decode(in, RowShape{1, 8}.width()));
}

}  // namespace
}  // namespace bento
