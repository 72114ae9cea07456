// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Programs that overwrite for ever, and never all at once: the index holds what can be seen, every
/// kept step shows what it showed, and steps keep their relative numbers.
#include "core/steps/forget_steps.hpp"

#include <deque>

#include <catch2/catch_test_macros.hpp>

#include "core/steps/step_commit.hpp"
#include "core/steps/step_index.hpp"
#include "tests/core/steps/step_support.hpp"

namespace bento {
namespace {

using namespace step_test;

constexpr std::uint64_t kElements = 640;

/// Which step wrote each element, 0 for none, after each of the kept steps.
struct Truth {
  std::deque<std::pair<std::uint64_t, std::vector<std::uint64_t>>> kept;
  std::vector<std::uint64_t> now = std::vector<std::uint64_t>(kElements, 0);
  std::vector<std::uint64_t> written;  ///< steps of the dataset

  void write(const Box& box, std::uint64_t step) {
    std::fill_n(now.begin() + static_cast<std::ptrdiff_t>(box.start[0]), box.count[0], step);
  }
  void shrink(std::uint64_t extent) {
    std::fill(now.begin() + static_cast<std::ptrdiff_t>(extent), now.end(), 0);
  }
  void commit(std::uint64_t step, std::uint64_t keep) {
    kept.emplace_back(step, now);
    if (kept.size() > keep) kept.pop_front();
  }
};

std::vector<std::uint64_t> shown(const StepIndex& index) {
  std::vector<std::uint64_t> steps(kElements, 0);
  const auto found = index.find(0, Box::whole(Dims{kElements}));
  REQUIRE(found);
  for (const auto& piece : found->pieces)
    std::fill_n(steps.begin() + static_cast<std::ptrdiff_t>(piece.part.start[0]),
                piece.part.count[0], found->records[piece.record].step.number());
  return steps;
}

void check(SegmentSource& blobs, const BlobRef& root, const Truth& truth) {
  for (const auto& [step, wanted] : truth.kept) {
    const auto index = StepIndex::open(blobs, root, AbsoluteStep(step));
    REQUIRE(index);
    REQUIRE(shown(*index) == wanted);
    std::vector<std::uint64_t> own;
    for (const auto at : truth.written)
      if (at <= step) own.push_back(at);
    REQUIRE(*index->steps_of(0) == own.size());
    const auto list = index->list_steps(0);
    REQUIRE(list);
    // The last one that the oldest kept step still sees whole, and everything since.
    std::uint64_t first = 0;
    while (first + 1 < own.size() && own[first + 1] <= truth.kept.front().first) ++first;
    REQUIRE(list->first.number() == first);
    for (std::uint64_t i = first; i < own.size(); ++i) {
      REQUIRE(list->steps.at(i - first).number() == own[i]);
      REQUIRE(index->absolute(0, RelativeStep(i))->number() == own[i]);
    }
    REQUIRE_FALSE(index->absolute(0, RelativeStep(own.size())));
    if (first != 0) REQUIRE_FALSE(index->absolute(0, RelativeStep(first - 1)));
  }
}

/// `write(truth, step)` gives the boxes of a step, or an extent to shrink to before them.
template <class Write>
void run(std::uint64_t steps, std::uint64_t keep, std::size_t most_stored, const Write& write) {
  MemoryBlobs blobs;
  BlobRef root;
  Truth truth;
  std::size_t most = 0;
  for (std::uint64_t step = 1; step <= steps; ++step) {
    StepCommit commit;
    commit.step = AbsoluteStep(step);
    commit.keep = keep;
    if (step == 1) {
      DatasetDeclaration dataset;
      dataset.rank = 1;
      dataset.element_bytes = 8;
      commit.declared.push_back(dataset);
    }
    ContributionBuilder builder;
    const auto [shrink, boxes] = write(step);
    std::uint64_t collective = 3 * step;
    if (shrink != 0) {
      commit.extents.push_back({0, ++collective, Dims{shrink}});
      truth.shrink(shrink);
    }
    for (const Box& box : boxes) {
      REQUIRE(builder.add(record_of(0, box, 0, collective, step), 8));
      truth.write(box, step);
    }
    const auto contribution = builder.encode();
    if (!boxes.empty()) commit.contribution = contribution;
    if (shrink != 0 || !boxes.empty()) truth.written.push_back(step);
    const auto done = commit_step(blobs, blobs, root, commit);
    REQUIRE(done);
    root = done->root;
    truth.commit(step, keep);
    INFO("after step " << step << ", keep " << keep);
    if (step % 5 == 0 || step + 100 > steps) check(blobs, root, truth);
    const auto index = StepIndex::open(blobs, root);
    most = std::max(most, index->stored_steps(0)->size());
  }
  INFO("at most " << most << " steps stored");
  REQUIRE(most <= most_stored);
}

TEST_CASE("step index: steps that others hide together are forgotten", "[core][index][step]") {
  for (const std::uint64_t keep : {std::uint64_t{1}, std::uint64_t{5}}) {
    Random random(keep);
    // 32 blocks: no more than so many steps can be seen, and twice that before anybody looks.
    run(700, keep, 128, [&](std::uint64_t) {
      const std::uint64_t block = below(random, 32);
      return std::pair{std::uint64_t{0}, std::vector{Box{Dims{block * 20}, Dims{20}}}};
    });
  }
}

TEST_CASE("step index: forgotten steps and changes of extent", "[core][index][step]") {
  for (const std::uint64_t keep : {std::uint64_t{1}, std::uint64_t{3}}) {
    Random random(40 + keep);
    run(600, keep, 256, [&](std::uint64_t step) {
      const std::uint64_t shrink = step > 1 && below(random, 4) == 0 ? 100 + below(random, 500) : 0;
      std::vector<Box> boxes;
      if (shrink == 0 || below(random, 2) == 0) {
        const std::uint64_t start = below(random, kElements - 60);
        boxes.push_back({Dims{start}, Dims{1 + below(random, 60)}});
      }
      return std::pair{shrink, boxes};
    });
  }
}

TEST_CASE("step index: rows that are appended for ever all stay", "[core][index][step]") {
  run(kElements, 1, kElements, [](std::uint64_t step) {
    return std::pair{std::uint64_t{0}, std::vector{Box{Dims{step - 1}, Dims{1}}}};
  });
}

}  // namespace
}  // namespace bento
