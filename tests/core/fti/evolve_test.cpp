// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// The evolution rules: the published example's table (docs/formats/fti-ff.md, section 3), and edge
// cases.
#include <array>
#include <cstdint>
#include <optional>

#include "core/fti/evolve.hpp"
#include "core/fti/verify.hpp"
#include "core/fti/writer.hpp"
#include "tests/core/fti/golden.hpp"

using namespace bento;
using namespace bento::test;
using fti::Layout;

namespace {

// The table as printed, in bytes at full size. Scaling by 1/1000 scales data, not the records
// between it.
struct Row {
  std::size_t block;
  std::int32_t id, containerid;
  std::uint64_t containersize, dptr, fptr_v11, fptr_v16;
};
constexpr std::array kRows = {Row{0, 1, 0, 4000000, 0, 300, 0},
                              Row{0, 2, 0, 8000000, 0, 4000300, 4000000},
                              Row{0, 3, 0, 12000000, 0, 12000300, 12000000},
                              Row{1, 4, 0, 16000000, 0, 24000376, 24000000},
                              Row{2, 2, 1, 16000000, 8000000, 40000516, 40000000},
                              Row{2, 3, 1, 16000000, 12000000, 56000516, 56000000},
                              Row{3, 5, 0, 20000000, 0, 72000592, 72000000},
                              Row{4, 2, 2, 8000000, 24000000, 92000732, 92000000},
                              Row{4, 3, 2, 8000000, 28000000, 100000732, 100000000}};
constexpr std::array<std::uint64_t, 5> kDbsizeV11 = {24000204, 16000076, 32000140, 20000076,
                                                     16000140};
constexpr std::array<std::uint64_t, 5> kDbsizeV16 = {24000000, 16000000, 32000000, 20000000,
                                                     16000000};

constexpr int kNone = -1;   // the container does not exist yet
constexpr int kEmpty = -2;  // it has no content
struct Step {
  std::array<int, 9> millions;
  std::size_t blocks;
  std::uint64_t size_v11, size_v16;
};
constexpr std::array kSteps = {
    Step{{4, 8, 12, kNone, kNone, kNone, kNone, kNone, kNone}, 1, 24000300, 24000292},
    Step{{4, 8, 12, 16, kNone, kNone, kNone, kNone, kNone}, 2, 40000376, 40000362},
    Step{{4, 8, 12, 16, 16, 16, kNone, kNone, kNone}, 3, 72000516, 72000490},
    Step{{4, 8, 12, 16, 16, 16, 20, kNone, kNone}, 4, 92000592, 92000560},
    Step{{4, 8, 12, 16, 12, 12, 20, kNone, kNone}, 4, 92000592, 92000560},
    Step{{4, 8, 12, 16, 16, 16, 20, 8, 8}, 5, 108000732, 108000688},
    Step{{4, 4, 8, 16, kEmpty, kEmpty, 20, kEmpty, kEmpty}, 5, 108000732, 108000688}};

// A number of the table, at 1/1000 where it counts data: its last three digits count records.
std::uint64_t scaled(std::uint64_t number, std::uint64_t unit) {
  return number / 1000000 * unit + number % 1000000;
}

void check_step(const fti::Checkpoint& checkpoint, const Step& step, std::uint64_t unit) {
  const bool v11 = checkpoint.layout == Layout::kV11;
  CHECK(checkpoint.meta.ckpt_size == scaled(v11 ? step.size_v11 : step.size_v16, unit));
  CHECK(checkpoint.meta.fs == checkpoint.meta.ckpt_size);
  REQUIRE(checkpoint.blocks.size() == step.blocks);
  std::size_t row = 0;
  for (std::size_t b = 0; b < checkpoint.blocks.size(); ++b) {
    CHECK(checkpoint.blocks[b].dbsize == scaled((v11 ? kDbsizeV11 : kDbsizeV16).at(b), unit));
    for (const fti::Container& container : checkpoint.blocks[b].containers) {
      REQUIRE(row < kRows.size());
      const Row& want = kRows.at(row);
      const int millions = step.millions.at(row);
      ++row;
      REQUIRE(millions != kNone);
      CHECK(want.block == b);
      CHECK(container.id == want.id);
      CHECK(container.containerid == want.containerid);
      CHECK(container.containersize == scaled(want.containersize, unit));
      CHECK(container.dptr == scaled(want.dptr, unit));
      CHECK(container.fptr == scaled(v11 ? want.fptr_v11 : want.fptr_v16, unit));
      CHECK(container.hascontent == (millions != kEmpty));
      CHECK(container.chunksize ==
            (millions == kEmpty ? 0 : static_cast<std::uint64_t>(millions) * unit));
      CHECK_FALSE(container.has_ckpt);
    }
  }
  for (; row < kRows.size(); ++row) CHECK(step.millions.at(row) == kNone);
}

fti::Checkpoint evolved(Layout layout, std::initializer_list<std::vector<fti::Protected>> steps) {
  std::optional<fti::Checkpoint> checkpoint;
  for (const auto& sizes : steps)
    checkpoint = value_of(checkpoint ? fti::next_checkpoint(*checkpoint, sizes)
                                     : fti::first_checkpoint(layout, sizes));
  return *checkpoint;
}

}  // namespace

TEST_CASE("fti evolve: the published seven checkpoints, in both layouts, at both scales",
          "[core][fti]") {
  for (const Layout layout : {Layout::kV11, Layout::kV16}) {
    for (const std::uint64_t unit : {1000u, 1000000u}) {
      fti::Checkpoint checkpoint =
          value_of(fti::first_checkpoint(layout, published_sizes(1, unit)));
      check_step(checkpoint, kSteps[0], unit);
      for (int step = 2; step <= 7; ++step) {
        checkpoint = value_of(fti::next_checkpoint(checkpoint, published_sizes(step, unit)));
        check_step(checkpoint, kSteps.at(static_cast<std::size_t>(step - 1)), unit);
      }
    }
  }
}

TEST_CASE(
    "fti evolve: the published seven checkpoints read back as the table, the last at full size",
    "[core][fti][full]") {
  // In memory: up to 108 MB, one file at a time, written and verified as FTI does. What the earlier
  // ones have at full size lies in the last one, too.
  for (const Layout layout : {Layout::kV11, Layout::kV16}) {
    for (const std::uint64_t unit : {1000u, 1000000u}) {
      std::optional<fti::Checkpoint> checkpoint;
      for (int step = 1; step <= 7; ++step) {
        INFO(fti::to_string(layout) << " checkpoint " << step << ", a million is " << unit);
        const auto sizes = published_sizes(step, unit);
        checkpoint = value_of(checkpoint ? fti::next_checkpoint(*checkpoint, sizes)
                                         : fti::first_checkpoint(layout, sizes));
        if (unit == 1000000 && step != 7) continue;
        ScratchFile file;
        require_ok(fti::write_checkpoint(*file, *checkpoint, golden_data(0), {}));
        fti::FileSource source(*file);
        const auto verdict = value_of(fti::verify(source));
        CHECK(verdict.fti_accepts());
        CHECK(verdict.layout == layout);
        check_step(verdict.checkpoint, kSteps.at(static_cast<std::size_t>(step - 1)), unit);
        CHECK(value_of((*file).size()) == verdict.checkpoint.meta.ckpt_size);
      }
    }
  }
}

TEST_CASE("fti evolve: sizes beyond 32 bits", "[core][fti]") {
  constexpr std::uint64_t kTera = std::uint64_t{1} << 40;
  const auto checkpoint =
      evolved(Layout::kV16, {{{1, 3 * kTera}, {2, 5}}, {{1, 4 * kTera}, {2, 5}}});
  REQUIRE(checkpoint.blocks.size() == 2);
  const auto& added = checkpoint.blocks[1].containers.at(0);
  CHECK(added.dptr == 3 * kTera);
  CHECK(added.fptr == 3 * kTera + 5);
  CHECK(added.containersize == kTera);
  CHECK(checkpoint.meta.data_size == 4 * kTera + 5);
  CHECK(checkpoint.meta.meta_size == 106 + 2 * 12 + 3 * 58);
}

TEST_CASE("fti evolve: a variable of no bytes keeps a first container with content",
          "[core][fti]") {
  auto checkpoint = evolved(Layout::kV11, {{{1, 0}, {2, 10}}});
  REQUIRE(checkpoint.blocks.at(0).containers.size() == 2);
  CHECK(checkpoint.blocks[0].containers[0].hascontent);
  CHECK(checkpoint.blocks[0].containers[0].containersize == 0);

  SECTION("when it grows, a second one holds its bytes") {
    checkpoint =
        value_of(fti::next_checkpoint(checkpoint, std::vector<fti::Protected>{{1, 7}, {2, 10}}));
    REQUIRE(checkpoint.blocks.size() == 2);
    const auto& added = checkpoint.blocks[1].containers.at(0);
    CHECK(added.containerid == 1);
    CHECK(added.dptr == 0);
    CHECK(added.chunksize == 7);
    CHECK(checkpoint.blocks[0].containers[0].hascontent);
  }
  SECTION(
      "when another one shrinks to nothing, its first container stays and the next is emptied") {
    checkpoint = evolved(Layout::kV11, {{{1, 0}, {2, 10}}, {{1, 0}, {2, 12}}, {{1, 0}, {2, 0}}});
    CHECK(checkpoint.blocks[0].containers[1].hascontent);
    CHECK(checkpoint.blocks[0].containers[1].chunksize == 0);
    CHECK_FALSE(checkpoint.blocks.at(1).containers.at(0).hascontent);
  }
}

TEST_CASE("fti evolve: a rest that just fills a container ends there", "[core][fti]") {
  const auto checkpoint = evolved(Layout::kV16, {{{1, 10}}, {{1, 15}}, {{1, 10}}});
  CHECK(checkpoint.blocks.at(0).containers.at(0).chunksize == 10);
  CHECK_FALSE(checkpoint.blocks.at(1).containers.at(0).hascontent);
  const auto again =
      value_of(fti::next_checkpoint(checkpoint, std::vector<fti::Protected>{{1, 15}}));
  CHECK(again.blocks.size() == 2);
  CHECK(again.blocks[1].containers[0].hascontent);
  CHECK(again.blocks[1].containers[0].chunksize == 5);
}

TEST_CASE("fti evolve: new containers come in protect order, old hashes stay", "[core][fti]") {
  auto first =
      value_of(fti::first_checkpoint(Layout::kV11, std::vector<fti::Protected>{{9, 4}, {3, 4}}));
  CHECK(first.blocks[0].containers[0].id == 9);
  CHECK(first.blocks[0].containers[0].idx == 0);
  CHECK(first.blocks[0].containers[1].idx == 1);
  first.blocks[0].containers[0].hash.fill(std::byte{0xAB});
  const auto next =
      value_of(fti::next_checkpoint(first, std::vector<fti::Protected>{{9, 6}, {3, 4}, {1, 2}}));
  REQUIRE(next.blocks.size() == 2);
  CHECK(next.blocks[0].containers[0].hash == first.blocks[0].containers[0].hash);
  CHECK(next.blocks[1].containers.at(0).id == 9);
  CHECK(next.blocks[1].containers.at(1).id == 1);
  CHECK(next.blocks[1].containers.at(1).idx == 2);
}

TEST_CASE("fti evolve: refuses what FTI could not hold", "[core][fti]") {
  const auto refused = [](const std::vector<fti::Protected>& variables) {
    const auto result = fti::first_checkpoint(Layout::kV11, variables);
    REQUIRE_FALSE(result.has_value());
    return result.error().code;
  };
  CHECK(refused({}) == Code::kInvalidArgument);
  CHECK(refused({{1, 4}, {1, 4}}) == Code::kInvalidArgument);
  CHECK(refused({{fti::kFillerId, 4}}) == Code::kInvalidArgument);
  CHECK(refused({{1, std::uint64_t{1} << 63}}) == Code::kInvalidArgument);
  CHECK_FALSE(
      fti::first_checkpoint(Layout::kV16, std::vector<fti::Protected>{{1, UINT64_MAX}, {2, 1}}));
  const auto first =
      value_of(fti::first_checkpoint(Layout::kV11, std::vector<fti::Protected>{{1, 4}, {2, 4}}));
  const auto dropped = fti::next_checkpoint(first, std::vector<fti::Protected>{{1, 4}});
  REQUIRE_FALSE(dropped.has_value());
  CHECK(dropped.error().text.find("variable 2") != std::string::npos);
}
