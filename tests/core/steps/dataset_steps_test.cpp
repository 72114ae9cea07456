// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/dataset_steps.hpp"

#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "core/steps/step_commit.hpp"
#include "core/steps/step_index.hpp"
#include "core/steps/step_tables.hpp"
#include "tests/core/steps/step_support.hpp"

namespace bento {
namespace {

using namespace step_test;

StepEntry entry_of(std::uint64_t first, std::uint64_t count) {
  StepEntry entry;
  entry.segment = {first, count, {}};
  entry.records = 1;
  entry.bounds = {Dims{first}, Dims{count}};
  return entry;
}

const SegmentArray kArray(SegmentTraits{1});

std::vector<std::uint64_t> steps_down(SegmentSource& source, const SegmentArray::Root& root,
                                      std::uint64_t last) {
  std::vector<std::uint64_t> steps;
  REQUIRE(kArray.visit_down(
      source, root, last, [](const StepSummary&) { return true; },
      [&](std::uint64_t step, const StepEntry&) -> Result<bool> {
        steps.push_back(step);
        return true;
      }));
  return steps;
}

TEST_CASE("dataset steps: the only one takes no page", "[core][index][step]") {
  MemoryBlobs blobs;
  const auto root = kArray.put(blobs, blobs, {}, 300, entry_of(10, 5));
  REQUIRE(root);
  CHECK(blobs.bytes().empty());
  CHECK(root->levels == SegmentArray::kInPlace);
  CHECK(root->summary.steps == 1);
  CHECK(root->summary.bounds == Box{Dims{10}, Dims{5}});
  CHECK(kArray.get(blobs, *root, 300).value()->segment.position == 10);
  CHECK_FALSE(kArray.get(blobs, *root, 299).value());
  CHECK(steps_down(blobs, *root, 299).empty());
  CHECK(steps_down(blobs, *root, 300) == std::vector<std::uint64_t>{300});
  CHECK(*kArray.count_to(blobs, *root, 299) == 0);
  CHECK(*kArray.count_to(blobs, *root, 300) == 1);
  CHECK(*kArray.nth(blobs, *root, 0) == 300);
  CHECK_FALSE(*kArray.nth(blobs, *root, 1));
  CHECK(kArray.drop_before(blobs, blobs, *root, 300)->summary.steps == 1);
  CHECK(kArray.drop_before(blobs, blobs, *root, 301)->levels == 0);
  const std::vector<std::uint64_t> others{299, 301};
  const std::vector<std::uint64_t> itself{299, 300};
  CHECK(kArray.remove(blobs, blobs, *root, others)->summary.steps == 1);
  CHECK(kArray.remove(blobs, blobs, *root, itself)->levels == 0);
}

TEST_CASE("dataset steps: a second one goes into a page with the first", "[core][index][step]") {
  MemoryBlobs blobs;
  const auto one = kArray.put(blobs, blobs, {}, 300, entry_of(10, 5));
  REQUIRE(one);
  const auto again = kArray.put(blobs, blobs, *one, 300, entry_of(11, 5));
  REQUIRE(again);
  CHECK(again->levels == SegmentArray::kInPlace);
  CHECK(kArray.get(blobs, *again, 300).value()->segment.position == 11);
  for (const std::uint64_t second : {7u, 301u, 5000u}) {
    const auto two = kArray.put(blobs, blobs, *one, second, entry_of(20, 5));
    REQUIRE(two);
    CHECK(two->levels < SegmentArray::kInPlace);
    CHECK(two->summary.steps == 2);
    CHECK(two->summary.bounds == Box{Dims{10}, Dims{15}});
    CHECK(kArray.get(blobs, *two, 300).value()->segment.position == 10);
    CHECK(kArray.get(blobs, *two, second).value()->segment.position == 20);
    CHECK(steps_down(blobs, *two, ~0ull) ==
          std::vector{std::max<std::uint64_t>(300, second), std::min<std::uint64_t>(300, second)});
  }
}

DatasetEntry written_once() {
  DatasetEntry entry;
  entry.declaration = {9, {}, 8, 1, 0};
  entry.declared = AbsoluteStep(3);
  StepEntry step = entry_of(1ull << 40, 1ull << 33);
  step.segment.bytes = kMaxBlobBytes;
  step.segment.hash.fill(std::byte{0x5A});
  step.clip = Dims{1ull << 41};
  step.covers = true;
  entry.steps = kArray.of_one(1ull << 35, step);
  return entry;
}

TEST_CASE("dataset steps: an entry that holds its step is read as it was written",
          "[core][index][step]") {
  const DatasetEntry entry = written_once();
  ByteWriter out;
  DatasetTraits().put_entry(out, entry);
  ByteReader in(out.view());
  DatasetEntry back;
  REQUIRE(DatasetTraits().get_entry(in, back));
  CHECK(in.remaining() == 0);
  CHECK(back.declaration.number == 9);
  CHECK(back.declared == AbsoluteStep(3));
  CHECK(back.steps.levels == SegmentArray::kInPlace);
  CHECK(back.steps.step == 1ull << 35);
  CHECK(back.steps.only.segment == entry.steps.only.segment);
  CHECK(back.steps.only.records == 1);
  CHECK(back.steps.only.bounds == entry.steps.only.bounds);
  CHECK(back.steps.only.clip == entry.steps.only.clip);
  CHECK(back.steps.only.covers);
  CHECK(back.steps.summary.steps == 1);
  CHECK(back.steps.summary.bounds == entry.steps.only.bounds);
  CHECK(back.steps.summary.clip == entry.steps.only.clip);
}

TEST_CASE("dataset steps: an entry that is cut off, or not one, is corrupt",
          "[core][index][step]") {
  ByteWriter out;
  DatasetTraits().put_entry(out, written_once());
  const auto whole = out.view();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    ByteReader in(whole.first(length));
    DatasetEntry back;
    const Status read = DatasetTraits().get_entry(in, back);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == Code::kCorrupt);
  }
  const std::size_t levels_at = 1 + 16 + 6;  // number, token, six numbers of a byte each
  std::vector<std::byte> bytes(whole.begin(), whole.end());
  REQUIRE(bytes[levels_at] == std::byte{SegmentArray::kInPlace});
  bytes[levels_at] = std::byte{SegmentArray::kInPlace + 1};
  ByteReader in(bytes);
  DatasetEntry back;
  CHECK_FALSE(DatasetTraits().get_entry(in, back));
}

BlobRef commit(MemoryBlobs& blobs, const BlobRef& root, std::uint64_t step, unsigned datasets) {
  ContributionBuilder builder;
  StepCommit commit;
  commit.step = AbsoluteStep(step);
  for (unsigned number = 0; number < datasets; ++number) {
    REQUIRE(builder.add(record_of(number, {Dims{0}, Dims{40}}, 0, step), 8));
    if (step == 1) commit.declared.push_back({number, {}, 8, 1, 0});
  }
  const auto bytes = builder.encode();
  commit.contribution = bytes;
  const auto done = commit_step(blobs, blobs, root, commit);
  REQUIRE(done);
  return done->root;
}

TEST_CASE("dataset steps: the first commit writes a segment for each dataset, and no page of it",
          "[core][index][step]") {
  MemoryBlobs blobs;
  const BlobRef one = commit(blobs, {}, 1, 10);
  CHECK(blobs_of(blobs, one) == 1 + 10 + 1 + 2);  // root, segments, datasets, steps with a page
  const BlobRef two = commit(blobs, one, 2, 10);
  for (const std::uint64_t step : {1u, 2u}) {
    const auto index = StepIndex::open(blobs, two, AbsoluteStep(step));
    REQUIRE(index);
    const auto found = index->find(4, {Dims{0}, Dims{40}});
    REQUIRE(found);
    REQUIRE(found->pieces.size() == 1);
    CHECK(found->records[found->pieces.front().record].step == AbsoluteStep(step));
    CHECK(*index->steps_of(4) == step);
  }
}

/// The index of one commit as older versions wrote it: each dataset's step lies in a page.
BlobRef in_pages(MemoryBlobs& blobs, const BlobRef& root, unsigned datasets) {
  StepIndexRoot decoded = decode_step_index_root(*blobs.read(root).value()).value();
  std::vector<DatasetArray::Change> changes;
  for (unsigned number = 0; number < datasets; ++number) {
    DatasetEntry entry = *DatasetArray().get(blobs, decoded.datasets, number).value();
    const SegmentArray::Pages::Change step{entry.steps.step, entry.steps.only};
    auto pages = SegmentArray::Pages(SegmentTraits{1}).put(blobs, blobs, {}, std::span(&step, 1));
    REQUIRE(pages);
    static_cast<SegmentArray::Pages::Root&>(entry.steps) = *pages;
    changes.emplace_back(number, entry);
  }
  decoded.datasets = DatasetArray().put(blobs, blobs, {}, changes).value();
  auto bytes = encode(decoded);
  bytes.front() = std::byte{1};
  return blobs.append(bytes).value();
}

TEST_CASE("dataset steps: an index of version 1 is read, and written on", "[core][index][step]") {
  MemoryBlobs blobs;
  const BlobRef old = in_pages(blobs, commit(blobs, {}, 1, 3), 3);
  const Box all{Dims{0}, Dims{40}};
  const auto before = StepIndex::open(blobs, old);
  REQUIRE(before);
  CHECK(before->find(2, all)->pieces.size() == 1);
  Record found;
  CHECK(before->find_only(2, all, blobs, found).value());
  const BlobRef next = commit(blobs, old, 2, 2);
  const auto after = StepIndex::open(blobs, next);
  REQUIRE(after);
  CHECK(*after->steps_of(1) == 2);
  CHECK(*after->steps_of(2) == 1);
  CHECK(after->find(2, all)->pieces.size() == 1);
  CHECK((*blobs.read(next).value())[0] == std::byte{2});
}

TEST_CASE("dataset steps: an index of a version to come is refused", "[core][index][step]") {
  auto bytes = encode(StepIndexRoot{});
  bytes.front() = std::byte{3};
  const auto refused = decode_step_index_root(bytes);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kUnsupported);
}

}  // namespace
}  // namespace bento
