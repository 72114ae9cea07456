// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/step_lookup.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "core/records/box_tree.hpp"

namespace bento {

namespace {

Box around(const std::vector<Box>& boxes) {
  Box bounds = boxes.front();
  for (const auto& box : boxes) grow(bounds, box);
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
    for (const auto& candidate : candidates) append_corners(corners_, candidate.visible);
    tree_.build(corners_, rank, candidates.size());
  }

  [[nodiscard]] std::vector<const Candidate*> of(const Box& box) const {
    std::vector<const Candidate*> touching;
    if (tree_.size() == 0) {
      for (const auto& candidate : candidates_)
        if (overlaps(candidate.visible, box)) touching.push_back(&candidate);
      return touching;
    }
    std::vector<std::size_t> found;
    tree_.find(corners_, box, found);
    touching.reserve(found.size());
    for (const std::size_t at : found) touching.push_back(&candidates_[at]);
    return touching;
  }

  /// Candidates that one such question looks at, in about.
  [[nodiscard]] std::size_t looked_at() const { return tree_.size() == 0 ? candidates_.size() : 0; }

 private:
  const std::vector<Candidate>& candidates_;
  std::vector<std::uint64_t> corners_;
  BoxTree tree_;
};

/// What several steps show in what later ones left uncovered. To hold a step against every
/// uncovered piece costs time of their number, for each step; so steps wait until they have enough
/// records.
class WaitingSteps {
 public:
  WaitingSteps(SegmentSource& source, FindOptions& options, const Box& selection, StepLookup& out)
      : source_(source), options_(options), out_(out), bounds_(selection) {
    out.uncovered.push_back(selection);
  }

  /// Holds all that is uncovered, also if no step waits.
  [[nodiscard]] const Box& bounds() const { return bounds_; }

  /// Adds a record of an older step than all whose records were ended by end_step(), or of that
  /// step; `position` in its segment.
  void add(const Candidate& candidate, std::uint64_t position) {
    if (waiting_.empty()) first_ = candidate.record;
    waiting_.push_back(candidate);
    if (options_.values) places_.push_back({position, segments_.size()});
  }

  /// The records that were added since the last call are all that this step has. Errors: the
  /// budget's, the source's.
  Status end_step(const StepSegment& segment) {
    if (waiting_.size() == ended_) return {};
    if (options_.values) segments_.push_back(segment);
    std::sort(waiting_.begin() + static_cast<std::ptrdiff_t>(ended_), waiting_.end(), is_newer);
    ended_ = waiting_.size();
    return waiting_.size() >= out_.uncovered.size() / kShare ? resolve() : Status();
  }

  /// Answers for all that waits.
  Status resolve() {
    if (waiting_.empty()) return {};
    if (one_shows_all()) {
      out_.pieces.push_back({waiting_.front().record, std::move(out_.uncovered.front())});
      out_.uncovered.clear();
      forget();
      return {};
    }
    // From here on only their sequence tells which is newer: orders are those of one step.
    for (std::size_t i = 0; i < waiting_.size(); ++i)
      waiting_[i].order = Order{waiting_.size() - i, 0, 0};
    Lookup seen;
    const TouchingCandidates near(waiting_, out_.uncovered.size());
    for (const auto& box : out_.uncovered) {
      auto touching = near.of(box);
      BENTO_TRY(options_.budget.spend(1 + (near.looked_at() + touching.size()) / 64));
      if (touching.empty())
        seen.uncovered.push_back(box);
      else
        BENTO_TRY(resolve_latest(box, std::move(touching), options_.budget, seen));
    }
    out_.uncovered = std::move(seen.uncovered);
    BENTO_TRY(take(std::move(seen.pieces)));
    if (!out_.uncovered.empty()) bounds_ = around(out_.uncovered);
    forget();
    return {};
  }

 private:
  /// As with most small datasets, and with whoever reads what was written.
  [[nodiscard]] bool one_shows_all() const {
    return waiting_.size() == 1 && out_.uncovered.size() == 1 && !options_.values &&
           contains(waiting_.front().visible, out_.uncovered.front());
  }

  void forget() {
    waiting_.clear();
    ended_ = 0;
    places_.clear();
    segments_.clear();
  }

  /// So many times more pieces than records are held against each other.
  static constexpr std::size_t kShare = 8;
  struct Place {
    std::uint64_t position;  ///< in the segment
    std::size_t segment;
  };

  Status take(std::vector<Piece> pieces) {
    for (auto& piece : pieces) {
      if (options_.values) {
        const Place& place = places_[piece.record - first_];
        const StepSegment& segment = segments_[place.segment];
        BENTO_TRY(options_.budget.spend(segment.range_bytes() / 4096));
        BENTO_ASSIGN(const bool may, segment.may_hold(source_, place.position, *options_.values));
        if (!may) continue;
      }
      out_.pieces.push_back(std::move(piece));
    }
    return {};
  }

  SegmentSource& source_;
  FindOptions& options_;
  StepLookup& out_;
  Box bounds_;
  std::vector<Candidate> waiting_;     ///< newest first, but for the step that is being added
  std::size_t ended_ = 0;              ///< those of steps that are complete
  std::size_t first_ = 0;              ///< record number of places_[0]
  std::vector<Place> places_;          ///< of the records that wait, if values are asked for
  std::vector<StepSegment> segments_;  ///< of the steps that wait, if values are asked for
};

// Adds what one step shows of what may be uncovered; `clip` holds all later changes of extent.
Status add_step(OnceSource& once, const DatasetDeclaration& dataset, const StepEntry& entry,
                AbsoluteStep step, const std::optional<Dims>& clip, FindOptions& options,
                StepLookup& out, WaitingSteps& waiting) {
  Box wanted = waiting.bounds();
  if (clip) wanted = intersect(wanted, Box::whole(*clip));
  if (wanted.empty() || entry.records == 0 || !overlaps(wanted, entry.bounds)) return {};
  BENTO_ASSIGN(const StepSegment segment, StepSegment::open(once, entry.segment));
  BENTO_TRY(check_segment(segment, dataset, step));
  const auto take = [&](std::uint64_t position, const Record& record) -> Status {
    BENTO_TRY(options.budget.spend(segment.extents().size() / 8));
    BENTO_TRY(options.budget.hold(out.records.size() + 1));
    Box visible = record.box;
    if (clip) visible = intersect(visible, Box::whole(*clip));
    for (const auto& event : segment.extents())
      if (record.order.collective < event.collective)
        visible = intersect(visible, Box::whole(event.extent));
    if (!overlaps(visible, wanted)) return {};
    waiting.add({out.records.size(), record.order, visible}, position);
    out.records.push_back({record, step});
    return {};
  };
  BENTO_TRY(segment.find(once, &wanted, options.budget, std::cref(take)));
  return waiting.end_step(segment);
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
  std::optional<Dims> clip;
  const auto matters = [&](const StepSummary& summary) {
    return summary.clip || (summary.any_records && overlaps(summary.bounds, selection));
  };
  OnceSource once(source);
  WaitingSteps waiting(source, options, selection, out);
  const auto visit = [&](std::uint64_t step, const StepEntry& at) -> Result<bool> {
    BENTO_TRY(options.budget.spend());
    BENTO_TRY(
        add_step(once, dataset.declaration, at, AbsoluteStep(step), clip, options, out, waiting));
    if (at.clip) narrow_clip(clip, *at.clip);
    return !out.uncovered.empty() && !at.covers;
  };
  BENTO_TRY(SegmentArray(SegmentTraits{dataset.declaration.rank})
                .visit_down(once, dataset.steps, as_of.number(), matters, visit));
  BENTO_TRY(waiting.resolve());
  return out;
}

Result<bool> find_only_record(SegmentSource& source, const DatasetEntry& dataset,
                              AbsoluteStep as_of, const Box& selection, Record& found) {
  const StepSummary& all = dataset.steps.summary;
  if (dataset.steps.levels == 0 || all.steps != 1 || all.clip || !all.any_records ||
      !contains(all.bounds, selection))
    return false;
  bool only = false;
  const auto visit = [&](std::uint64_t step, const StepEntry& at) -> Result<bool> {
    // Who reads more than one of its records is likely to touch several.
    if (at.clip || at.records == 0 || selection.elements() / 2 > at.bounds.elements() / at.records)
      return false;
    BENTO_ASSIGN(const StepSegment segment, StepSegment::open(source, at.segment));
    BENTO_TRY(check_segment(segment, dataset.declaration, AbsoluteStep(step)));
    BENTO_ASSIGN(only, segment.find_only(selection, found));
    return false;
  };
  BENTO_TRY(SegmentArray(SegmentTraits{dataset.declaration.rank})
                .visit_down(
                    source, dataset.steps, as_of.number(), [](const StepSummary&) { return true; },
                    visit));
  return only;
}

}  // namespace bento
