// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/step_lookup.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/records/box_tree.hpp"

namespace bento {

namespace {

Box around(const std::vector<Box>& boxes) {
  Box bounds = boxes.front();
  for (const auto& box : boxes)
    for (unsigned d = 0; d < box.rank(); ++d) {
      const std::uint64_t end =
          std::max(bounds.start[d] + bounds.count[d], box.start[d] + box.count[d]);
      bounds.start[d] = std::min(bounds.start[d], box.start[d]);
      bounds.count[d] = end - bounds.start[d];
    }
  return bounds;
}

/// Which candidates touch a box: asked for many boxes, of which each touches few.
class TouchingCandidates {
 public:
  TouchingCandidates(const std::vector<Candidate>& candidates, std::size_t boxes)
      : candidates_(candidates) {
    constexpr std::size_t kFew = 64;
    if (candidates.size() <= kFew || boxes <= kFew) return;
    const unsigned rank = candidates.front().visible.rank();
    corners_.reserve(candidates.size() * 2 * rank);
    for (const auto& candidate : candidates) {
      for (unsigned d = 0; d < rank; ++d) corners_.push_back(candidate.visible.start[d]);
      for (unsigned d = 0; d < rank; ++d) corners_.push_back(candidate.visible.count[d]);
    }
    tree_.build(corners_, rank, candidates.size());
  }

  [[nodiscard]] std::vector<Candidate> of(const Box& box) const {
    std::vector<Candidate> touching;
    if (tree_.size() == 0) {
      for (const auto& candidate : candidates_)
        if (overlaps(candidate.visible, box)) touching.push_back(candidate);
      return touching;
    }
    std::vector<std::size_t> found;
    tree_.find(corners_, box, found);
    touching.reserve(found.size());
    for (const std::size_t at : found) touching.push_back(candidates_[at]);
    return touching;
  }

  /// Candidates that one such question looks at, in about.
  [[nodiscard]] std::size_t looked_at() const { return tree_.size() == 0 ? candidates_.size() : 0; }

 private:
  const std::vector<Candidate>& candidates_;
  std::vector<std::uint64_t> corners_;
  BoxTree tree_;
};

// Adds what one step shows in what later ones left uncovered; `clip` holds all later changes of
// extent.
Status add_step(SegmentSource& source, OnceSource& once, const DatasetDeclaration& dataset,
                const StepEntry& entry, AbsoluteStep step, const std::optional<Dims>& clip,
                FindOptions& options, StepLookup& out) {
  Box wanted = around(out.uncovered);
  if (clip) wanted = intersect(wanted, Box::whole(*clip));
  if (wanted.empty() || entry.records == 0 || !overlaps(wanted, entry.bounds)) return {};
  BENTO_ASSIGN(const StepSegment segment, StepSegment::open(once, entry.segment));
  BENTO_TRY(check_segment(segment, dataset, step));
  const std::size_t first = out.records.size();
  std::vector<Candidate> candidates;
  std::vector<std::uint64_t> positions;
  BENTO_TRY(segment.find(once, &wanted, options.budget,
                         [&](std::uint64_t position, const Record& record) -> Status {
                           BENTO_TRY(options.budget.spend(segment.extents().size() / 8));
                           BENTO_TRY(options.budget.hold(out.records.size() + 1));
                           Box visible = record.box;
                           if (clip) visible = intersect(visible, Box::whole(*clip));
                           for (const auto& event : segment.extents())
                             if (record.order.collective < event.collective)
                               visible = intersect(visible, Box::whole(event.extent));
                           if (!overlaps(visible, wanted)) return {};
                           candidates.push_back({out.records.size(), record.order, visible});
                           positions.push_back(position);
                           out.records.push_back({record, step});
                           return {};
                         }));
  if (candidates.empty()) return {};

  Lookup seen;
  const TouchingCandidates near(candidates, out.uncovered.size());
  for (const auto& box : out.uncovered) {
    auto touching = near.of(box);
    BENTO_TRY(options.budget.spend(1 + (near.looked_at() + touching.size()) / 64));
    BENTO_TRY(resolve_latest(box, std::move(touching), options.budget, seen));
  }
  out.uncovered = std::move(seen.uncovered);
  for (auto& piece : seen.pieces) {
    if (options.values) {
      BENTO_TRY(options.budget.spend(segment.range_bytes() / 4096));
      BENTO_ASSIGN(const bool may,
                   segment.may_hold(source, positions[piece.record - first], *options.values));
      if (!may) continue;
    }
    out.pieces.push_back(std::move(piece));
  }
  return {};
}

}  // namespace

Status check_segment(const StepSegment& segment, const DatasetDeclaration& dataset,
                     AbsoluteStep step) {
  if (segment.dataset() == dataset.number && segment.step() == step &&
      segment.shape() == RowShape{dataset.rank, dataset.element_bytes})
    return {};
  return fail(Code::kCorrupt,
              fmt::format("step index: a segment of dataset {}, step {}, with {} dimensions and "
                          "elements of {} bytes, where one of dataset {}, step {}, with {} and {} "
                          "was expected",
                          segment.dataset(), segment.step().number(), segment.shape().rank,
                          segment.shape().element_bytes, dataset.number, step.number(),
                          dataset.rank, dataset.element_bytes));
}

Result<StepLookup> find_in_steps(SegmentSource& source, const DatasetEntry& dataset,
                                 AbsoluteStep as_of, const Box& selection, FindOptions options) {
  StepLookup out;
  if (selection.empty()) return out;
  out.uncovered.push_back(selection);
  std::optional<Dims> clip;
  const auto matters = [&](const StepSummary& summary) {
    return summary.clip || (summary.any_records && overlaps(summary.bounds, selection));
  };
  OnceSource once(source);
  const auto visit = [&](std::uint64_t step, const StepEntry& at) -> Result<bool> {
    BENTO_TRY(options.budget.spend());
    BENTO_TRY(
        add_step(source, once, dataset.declaration, at, AbsoluteStep(step), clip, options, out));
    if (at.clip) narrow_clip(clip, *at.clip);
    return !out.uncovered.empty() && !at.covers;
  };
  BENTO_TRY(SegmentArray(SegmentTraits{dataset.declaration.rank})
                .visit_down(once, dataset.steps, as_of.number(), matters, visit));
  return out;
}

}  // namespace bento
