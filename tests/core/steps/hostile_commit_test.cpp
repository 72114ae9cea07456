// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// A commit looks for steps of which nothing can be seen any more. What an earlier writer left in
// the index made to deceive costs it little, and no step.
#include <catch2/catch_test_macros.hpp>

#include "core/steps/forget_steps.hpp"
#include "core/steps/step_commit.hpp"
#include "core/steps/step_index.hpp"
#include "tests/core/steps/hostile_support.hpp"
#include "tests/core/steps/step_support.hpp"
#include "tests/support/test_memory.hpp"

namespace bento {
namespace {

using namespace step_test;

/// So many steps of a dataset are worth a search for hidden ones.
constexpr std::uint64_t kSteps = 64;
constexpr std::uint64_t kForged = 3;

struct Searched {
  std::size_t stored = 0;  ///< steps that are left
  std::uint64_t memory = 0;
};

/// Commits kSteps steps of a square of 1000 x 1000: halves of its upper part, in turns, and once
/// its lower part, of which the index then says `runs` instead. Only three steps can be seen.
Searched search(const std::vector<RecordRun>& runs) {
  MemoryBlobs blobs;
  ForgingSink sink(blobs, blobs);
  if (!runs.empty()) sink.forge(AbsoluteStep(kForged), runs);
  BlobRef root;
  std::uint64_t memory = 0;
  for (std::uint64_t step = 1; step <= kSteps; ++step) {
    const Box part{Dims{step == kForged ? 500u : step % 2 * 250, 0},
                   Dims{step == kForged ? 500u : 250u, 1000}};
    ContributionBuilder builder;
    REQUIRE(builder.add(record_of(0, part, 0, step), 8));
    const auto contribution = builder.encode();
    StepCommit commit;
    commit.step = AbsoluteStep(step);
    commit.keep = 1;
    if (step == 1) commit.declared = {{0, {}, 8, 2, 0}};
    commit.contribution = contribution;
    const test::MemoryWatch watch;
    const auto done = commit_step(blobs, sink, root, commit);
    memory = std::max(memory, watch.peak());
    REQUIRE(done);
    root = done->root;
  }
  REQUIRE(sink.forged() == (runs.empty() ? 0 : 1));
  const auto index = StepIndex::open(blobs, root);
  REQUIRE(index);
  return {index->stored_steps(0)->size(), memory};
}

TEST_CASE("hostile commit: a search for hidden steps holds few records and pieces",
          "[core][index][step]") {
  REQUIRE(search({}).stored == 3);
  const RowShape shape{2, 8};

  SECTION("a run of 2^18 records, where the index speaks of one") {
    const Box part{Dims{500, 0}, Dims{500, 1000}};
    const auto found = search({many_of(record_of(0, part, 0, kForged), 8, 18)});
    CHECK(found.stored == kSteps);
    CHECK(found.memory < 160u << 20);
  }
  SECTION("lines that cross, and leave half a million pieces") {
    RecordRun rows;
    RecordRun columns;
    for (std::uint64_t i = 0; i < 500; ++i) {
      const Box column{Dims{500, 2 * i}, Dims{500, 1}};
      const auto other = row_of(record_of(0, column, 0, kForged), 8);
      if (i == 0) columns = RecordRun(shape.width(), other);
      if (i != 0) columns.push(other);
      if (i % 2 != 0) continue;
      const Box row{Dims{500 + i, 0}, Dims{1, 1000}};
      const auto one = row_of(record_of(0, row, 0, kForged), 8);
      if (i == 0) rows = RecordRun(shape.width(), one);
      if (i != 0) rows.push(one);
    }
    const auto found = search({rows, columns});
    CHECK(found.stored == kSteps);
    CHECK(found.memory < 512u << 20);
  }
}

/// Stops whoever does not stop by itself.
class PatientSource : public SegmentSource {
 public:
  explicit PatientSource(SegmentSource& below) : below_(below) {}
  Result<Blob> read(const BlobRef& ref) override {
    if (++reads_ > 300000) return fail(Code::kInternal, "this never ends");
    return below_.read(ref);
  }
  Result<std::uint64_t> stored_bytes() override { return below_.stored_bytes(); }

 private:
  SegmentSource& below_;
  std::uint64_t reads_ = 0;
};

TEST_CASE("hostile commit: pages of steps that are one page end both searches",
          "[core][index][step]") {
  MemoryBlobs blobs;
  const SegmentTraits traits{1};
  ByteWriter leaf;
  leaf.u8(0);
  leaf.u16(0);
  const auto empty = blobs.append(leaf.view());
  REQUIRE(empty);
  StepSummary said;
  said.steps = kSteps;
  said.any_records = true;
  said.bounds = {Dims{0}, Dims{40}};
  ByteWriter summary;
  traits.put_summary(summary, said);
  DatasetEntry entry;
  entry.declaration.rank = 1;
  entry.declaration.element_bytes = 8;
  entry.steps.levels = 16;
  entry.steps.ref = stacked_pages(blobs, *empty, 1, summary.view());
  entry.steps.summary = said;
  PatientSource source(blobs);
  const Status done = forget_steps(source, blobs, AbsoluteStep(~std::uint64_t{0}), entry);
  REQUIRE_FALSE(done);
  INFO(done.error().text);
  CHECK(done.error().code == Code::kCorrupt);
}

}  // namespace
}  // namespace bento
