// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The step index's bytes: contributions, and a stored index whose checksums are vouched for. The
/// first byte says which. Besides the sanitizers' checks: what decodes encodes to the same records,
/// and an answer covers exactly the selection.
#include <algorithm>
#include <vector>

#include "core/steps/contribution.hpp"
#include "core/steps/run_view.hpp"
#include "core/steps/step_index.hpp"
#include "tests/fuzz/target.hpp"

namespace bento::fuzz {
namespace {

/// The input is the whole store (its first byte the length of the root behind it), and whatever a
/// reference says about its hash is right.
class InputSource : public SegmentSource {
 public:
  explicit InputSource(std::span<const std::byte> bytes) : bytes_(bytes) {}
  Result<Blob> read(const BlobRef& ref) override {
    if (ref.position > bytes_.size() || ref.bytes > bytes_.size() - ref.position)
      return fail(Code::kCorrupt, "outside");
    const auto view =
        bytes_.subspan(static_cast<std::size_t>(ref.position), static_cast<std::size_t>(ref.bytes));
    return std::make_shared<const std::vector<std::byte>>(view.begin(), view.end());
  }
  Result<std::uint64_t> stored_bytes() override { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
};

void check_run(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  const RowShape shape{2, 8};
  const auto run = RecordRun::decode(in, shape.width());
  if (!run) return;
  ByteWriter out;
  run->encode(out);
  ByteReader again(out.view());
  const auto back = RecordRun::decode(again, shape.width());
  require(back.has_value() && back->records() == run->records() &&
              std::ranges::equal(back->last(), run->last()),
          "a run is written as read");
  const auto view = RunView::make(*run, shape.rank);
  if (!view) return;
  QueryBudget budget{10000};
  std::uint64_t hits = 0;
  const bool complete = view->find(view->bounds(), budget,
                                   [&](std::uint64_t ordinal, auto) -> Status {
                                     require(ordinal < run->records(), "hits are of the run");
                                     ++hits;
                                     return {};
                                   })
                            .has_value();
  if (complete && !view->bounds().empty()) require(hits <= run->records(), "each is hit once");
  QueryBudget apart{10000};
  (void)view->apart(RunView::Overlap::kNone, apart);
  (void)view->volume();
}

void check_contribution(std::span<const std::byte> bytes) {
  const auto half = bytes.size() / 2;
  const auto merged = merge_contributions(bytes.first(half), bytes.subspan(half));
  for (const auto whole : {bytes, merged ? std::span<const std::byte>(*merged) : bytes}) {
    const auto parts = parse_contribution(whole);
    if (!parts) continue;
    for (const auto& part : *parts) {
      if (part.records > 100000) continue;
      (void)needs_exact_times(part);
      (void)decode_ranges(part);
    }
  }
}

void check_index(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  InputSource source(bytes);
  const auto root_bytes = std::to_integer<std::uint64_t>(bytes[0]);
  const auto index = StepIndex::open(source, {1, root_bytes, {}});
  if (!index) return;
  const auto datasets = index->datasets();
  if (!datasets) return;
  for (const auto& dataset : *datasets) {
    (void)index->list_steps(dataset.number);
    (void)index->steps_of(dataset.number);
    (void)index->absolute(dataset.number, RelativeStep(1));
    FindOptions options;
    options.values = ValueRange{3, 7};
    options.budget.visits = 10000;
    const Box selection{Dims(dataset.rank, 2), Dims(dataset.rank, 9)};
    (void)index->find(dataset.number, selection, options);
    options.values.reset();
    options.budget.visits = 10000;
    if (dataset.rank > 4) continue;
    if (const auto found = index->find(dataset.number, selection, options)) {
      std::uint64_t elements = 0;
      for (const auto& piece : found->pieces) elements += piece.part.elements();
      for (const auto& box : found->uncovered) elements += box.elements();
      require(elements == selection.elements(), "an answer covers the selection");
    }
  }
}

void check_page(std::span<const std::byte> bytes) {
  InputSource source(bytes);
  QueryBudget budget{10000};
  const RowShape shape{1, 8};
  const Box selection{Dims{2}, Dims{9}};
  (void)find_in_page(source, bytes, shape, &selection, budget,
                     [](std::uint64_t, auto) { return Status{}; });
  if (const auto segment = StepSegment::open(source, {0, bytes.size(), {}}))
    (void)segment->find(source, nullptr, budget,
                        [](std::uint64_t, const Record&) { return Status{}; });
}

}  // namespace

void index_segments(Input input) {
  Dice dice(input);
  const auto what = dice.number(1) % 4;
  const Input bytes = dice.rest();
  switch (what) {
    case 0:
      check_run(bytes);
      break;
    case 1:
      check_contribution(bytes);
      break;
    case 2:
      check_index(bytes);
      break;
    default:
      check_page(bytes);
  }
}

}  // namespace bento::fuzz

BENTO_FUZZ_MAIN(index_segments)
