// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/index/step_lookup.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/index/step_segment.hpp"

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

// Adds what one step shows in what later ones left uncovered; `clip` holds all later changes of
// extent.
Status add_step(SegmentSource& source, const StepEntry& entry, AbsoluteStep step,
                const std::optional<Dims>& clip, FindOptions& options, StepLookup& out) {
  Box wanted = around(out.uncovered);
  if (clip) wanted = intersect(wanted, Box::whole(*clip));
  if (wanted.empty() || entry.records == 0 || !overlaps(wanted, entry.bounds)) return {};
  BENTO_ASSIGN(const StepSegment segment, StepSegment::open(source, entry.segment));
  if (segment.shape().rank != wanted.rank() || segment.step() != step)
    return fail(Code::kCorrupt, fmt::format("step index: the segment of step {} where that of {} "
                                            "was expected",
                                            segment.step().number(), step.number()));
  const std::size_t first = out.records.size();
  std::vector<Candidate> candidates;
  std::vector<std::uint64_t> positions;
  BENTO_TRY(segment.find(source, &wanted, options.budget,
                         [&](std::uint64_t position, const Record& record) -> Status {
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
  for (const auto& box : out.uncovered) {
    std::vector<Candidate> touching;
    for (const auto& candidate : candidates)
      if (overlaps(candidate.visible, box)) touching.push_back(candidate);
    resolve_latest(box, std::move(touching), seen);
  }
  out.uncovered = std::move(seen.uncovered);
  for (auto& piece : seen.pieces) {
    if (options.values) {
      BENTO_ASSIGN(const bool may,
                   segment.may_hold(source, positions[piece.record - first], *options.values));
      if (!may) continue;
    }
    out.pieces.push_back(std::move(piece));
  }
  return {};
}

}  // namespace

Result<StepLookup> find_in_steps(SegmentSource& source, const SegmentArray::Root& steps,
                                 unsigned rank, AbsoluteStep as_of, const Box& selection,
                                 FindOptions options) {
  StepLookup out;
  if (selection.empty()) return out;
  out.uncovered.push_back(selection);
  std::optional<Dims> clip;
  const auto matters = [&](const StepSummary& summary) {
    return summary.clip || (summary.any_records && overlaps(summary.bounds, selection));
  };
  BENTO_TRY(SegmentArray(SegmentTraits{rank})
                .visit_down(source, steps, as_of.number(), matters,
                            [&](std::uint64_t step, const StepEntry& at) -> Result<bool> {
                              BENTO_TRY(options.budget.spend());
                              BENTO_TRY(
                                  add_step(source, at, AbsoluteStep(step), clip, options, out));
                              if (at.clip) narrow_clip(clip, *at.clip);
                              return !out.uncovered.empty() && !at.covers;
                            }));
  return out;
}

}  // namespace bento
