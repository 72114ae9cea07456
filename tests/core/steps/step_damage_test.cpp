// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Changed and missing bytes of a stored step index: an answer is the right one or an error.
#include <algorithm>

#include <catch2/catch_test_macros.hpp>

#include "core/steps/step_commit.hpp"
#include "core/steps/step_index.hpp"
#include "tests/core/steps/step_support.hpp"

namespace bento {
namespace {

using namespace step_test;

struct Stored {
  MemoryBlobs blobs;
  BlobRef root;
};

/// Five steps of three datasets: one regular, one irregular of several pages, one of both with
/// value ranges and a change of extent.
Stored build() {
  Random random(1);
  Stored stored;
  for (std::uint64_t step = 1; step <= 5; ++step) {
    std::vector<std::vector<std::byte>> parts;
    for (std::uint32_t r = 0; r < 1100; ++r) {
      ContributionBuilder::Options options;
      options.ranges = true;
      ContributionBuilder builder(options);
      REQUIRE(
          builder.add(record_of(0, grid_box(Cut::kFloor, Dims{5555, 7}, Dims{1100, 1}, r), r, step),
                      8, {r, r + 10}));
      Record loose = record_of(1, {Dims{5u * r, 0}, Dims{1 + below(random, 5), 3}}, r, step);
      loose.where.offset = random() % 100000 * 64;
      if (step % 2 == 0) REQUIRE(builder.add(loose, 8));
      if (r < 20)
        REQUIRE(builder.add(
            record_of(2, grid_box(Cut::kFirstLarger, Dims{70}, Dims{20}, r), r, step), 8));
      parts.push_back(builder.encode());
    }
    const auto merged = merge_all(std::move(parts));
    REQUIRE(merged);
    StepCommit commit;
    commit.step = AbsoluteStep(step);
    for (DatasetNumber number = 0; step == 1 && number < 3; ++number) {
      DatasetDeclaration dataset;
      dataset.number = number;
      dataset.rank = number == 2 ? 1 : 2;
      dataset.element_bytes = 8;
      commit.declared.push_back(dataset);
    }
    if (step == 4) commit.extents.push_back({2, 100, Dims{33}});
    commit.contribution = *merged;
    const auto done = commit_step(stored.blobs, stored.blobs, stored.root, commit);
    REQUIRE(done);
    stored.root = done->root;
  }
  return stored;
}

/// Everything one can ask, as text; an error is the word "error".
std::vector<std::string> ask(SegmentSource& source, const BlobRef& root) {
  std::vector<std::string> answers;
  const auto index = StepIndex::open(source, root, AbsoluteStep(4));
  if (!index) return {"error"};
  const auto note = [&](const auto& result, const auto& print) {
    answers.push_back(result ? print(*result) : "error");
  };
  note(index->datasets(), [](const auto& list) { return fmt::format("{}", list.size()); });
  for (std::uint64_t step = 1; step <= 4; ++step)
    note(index->step(AbsoluteStep(step)),
         [](const auto& info) { return fmt::format("{}", fmt::join(info.datasets, " ")); });
  for (DatasetNumber number = 0; number < 3; ++number) {
    note(index->steps_of(number), [](const auto& count) { return fmt::format("{}", count); });
    note(index->absolute(number, RelativeStep(1)),
         [](const auto& step) { return fmt::format("{}", step.number()); });
    for (const bool ranges : {false, true}) {
      FindOptions options;
      if (ranges) options.values = ValueRange{500, 520};
      const Box selection =
          number == 2 ? Box{Dims{20}, Dims{60}} : Box{Dims{1000, 1}, Dims{1500, 2}};
      note(index->find(number, selection, options), [](const auto& found) {
        std::vector<std::string> lines;
        for (const auto& piece : found.pieces) {
          const auto& at = found.records[piece.record];
          lines.push_back(fmt::format("{} {} {} {}: {} {}", at.step.number(), at.record.order.rank,
                                      at.record.where.offset, at.record.header_distance,
                                      fmt::join(piece.part.start.view(), ","),
                                      fmt::join(piece.part.count.view(), ",")));
        }
        for (const auto& box : found.uncovered)
          lines.push_back(fmt::format("- {} {}", fmt::join(box.start.view(), ","),
                                      fmt::join(box.count.view(), ",")));
        std::sort(lines.begin(), lines.end());
        return fmt::format("{}", fmt::join(lines, "\n"));
      });
    }
  }
  return answers;
}

void right_or_error(const std::vector<std::string>& good, const std::vector<std::string>& found) {
  if (found == std::vector<std::string>{"error"}) return;
  REQUIRE(found.size() == good.size());
  for (std::size_t i = 0; i < good.size(); ++i)
    if (found[i] != "error") REQUIRE(found[i] == good[i]);
}

TEST_CASE("step index: changed bytes are harmless or reported, never wrong records",
          "[core][index][step]") {
  Stored stored = build();
  const auto good = ask(stored.blobs, stored.root);
  REQUIRE(std::count(good.begin(), good.end(), "error") == 0);
  Random random(3);
  auto& bytes = stored.blobs.bytes();
  std::size_t noticed = 0;
  for (int round = 0; round < 120; ++round) {
    // Half of them in what the newest root sees first.
    const std::size_t at =
        round % 2 == 0 ? below(random, bytes.size()) : bytes.size() - 1 - below(random, 2000);
    const auto before = bytes[at];
    bytes[at] ^= static_cast<std::byte>(1u << below(random, 8));
    const auto found = ask(stored.blobs, stored.root);
    right_or_error(good, found);
    if (found != good) ++noticed;
    bytes[at] = before;
  }
  REQUIRE(noticed > 20);
}

TEST_CASE("step index: a store that ends early gives errors, not other records",
          "[core][index][step]") {
  Stored stored = build();
  const auto good = ask(stored.blobs, stored.root);
  auto& bytes = stored.blobs.bytes();
  const std::vector<std::byte> whole = bytes;
  for (int round = 0; round < 30; ++round) {
    bytes.resize(whole.size() * static_cast<std::size_t>(round) / 30);
    right_or_error(good, ask(stored.blobs, stored.root));
    bytes = whole;
  }
}

/// Gives other bytes than were asked for and vouches for them: what a hostile file can do.
class HostileSource : public SegmentSource {
 public:
  HostileSource(SegmentSource& below, Random& random) : below_(below), random_(random) {}
  Result<Blob> read(const BlobRef& ref) override {
    BENTO_ASSIGN(const Blob good, below_.read(ref));
    if (step_test::below(random_, 6) != 0) return good;
    auto bad = *good;
    for (std::uint64_t n = 1 + step_test::below(random_, 3); n > 0 && !bad.empty(); --n) {
      const std::size_t at = step_test::below(random_, bad.size());
      switch (step_test::below(random_, 4)) {
        case 0:
          bad[at] ^= static_cast<std::byte>(1u << step_test::below(random_, 8));
          break;
        case 1:
          bad[at] = std::byte{0xFF};
          break;
        case 2:
          bad.resize(at);
          break;
        default:
          bad.insert(bad.begin() + static_cast<std::ptrdiff_t>(at), 9, std::byte{0xFF});
      }
    }
    return std::make_shared<const std::vector<std::byte>>(std::move(bad));
  }
  Result<std::uint64_t> stored_bytes() override { return below_.stored_bytes(); }

 private:
  SegmentSource& below_;
  Random& random_;
};

TEST_CASE("step index: pages made to deceive end in an answer or an error, soon",
          "[core][index][step]") {
  Stored stored = build();
  Random random(9);
  for (int round = 0; round < 150; ++round) {
    HostileSource hostile(stored.blobs, random);
    (void)ask(hostile, stored.root);
  }
}

TEST_CASE("contribution: every truncation is an error, changed bytes do no harm",
          "[core][index][step]") {
  ContributionBuilder::Options options;
  options.ranges = true;
  ContributionBuilder left(options);
  ContributionBuilder right(options);
  for (std::uint32_t r = 0; r < 40; ++r) {
    auto& builder = r < 20 ? left : right;
    REQUIRE(builder.add(record_of(r % 2, grid_box(Cut::kFloor, Dims{333}, Dims{40}, r), r, 1), 8));
  }
  const auto a = left.encode();
  const auto b = right.encode();
  const auto good = merge_contributions(a, b);
  REQUIRE(good);
  for (std::size_t length = 0; length < good->size(); ++length)
    REQUIRE_FALSE(parse_contribution(std::span(*good).first(length)));
  for (std::size_t at = 0; at < a.size(); ++at)
    for (const unsigned change : {0x01u, 0x80u, 0xFFu}) {
      auto bad = a;
      bad[at] ^= static_cast<std::byte>(change);
      const auto merged = merge_contributions(bad, b);
      if (!merged) continue;
      const auto parts = parse_contribution(*merged);
      REQUIRE(parts);
      for (const auto& part : *parts) (void)needs_exact_times(part);
    }
}

}  // namespace
}  // namespace bento
