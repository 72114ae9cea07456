// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/forget_steps.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <vector>

#include "core/steps/step_lookup.hpp"

namespace bento {

namespace {

/// How far back a commit looks for a step that hides everything older. Checkpoints find it at once;
/// where nothing is ever hidden, looking further would cost each commit more than the last.
constexpr unsigned kLookBack = 8;
/// Fewer steps are not worth a search, and more records would make a commit wait.
constexpr std::uint64_t kLeastSteps = 64;
constexpr std::uint64_t kMostRecords = 1u << 16;
constexpr std::uint64_t kMostBoxes = 1u << 18;

bool any(const StepSummary&) {
  return true;
}

Status forget_covered(SegmentSource& source, SegmentSink& sink, AbsoluteStep oldest,
                      DatasetEntry& entry) {
  const SegmentArray array(SegmentTraits{entry.declaration.rank});
  std::uint64_t cover = 0;
  unsigned seen = 0;
  OnceSource once(source);
  BENTO_TRY(array.visit_down(once, entry.steps, oldest.number(), any,
                             [&](std::uint64_t step, const StepEntry& at) -> Result<bool> {
                               if (at.covers) cover = step;
                               return !at.covers && ++seen < kLookBack;
                             }));
  if (cover == 0) return {};
  const std::uint64_t before = entry.steps.summary.steps;
  BENTO_ASSIGN(entry.steps, array.drop_before(source, sink, entry.steps, cover));
  entry.dropped += before - entry.steps.summary.steps;
  return {};
}

struct Older {
  std::uint64_t step;
  bool clips;
};

/// Those of `older`, ascending, that can go: of which nothing is `seen`, and which cut nothing that
/// stays.
std::vector<std::uint64_t> unseen(const std::vector<Older>& older,
                                  const std::set<std::uint64_t>& seen) {
  std::vector<std::uint64_t> gone;
  bool something_stays = false;
  for (const Older& each : older) {
    if (seen.contains(each.step) || (each.clips && something_stays))
      something_stays = true;
    else
      gone.push_back(each.step);
  }
  return gone;
}

Status forget_unseen(SegmentSource& source, SegmentSink& sink, AbsoluteStep oldest,
                     DatasetEntry& entry) {
  const unsigned rank = entry.declaration.rank;
  const SegmentArray array(SegmentTraits{rank});
  // Without the newest of them, which is the dataset's step as of the oldest kept one.
  std::vector<Older> older;
  std::uint64_t records = 0;
  bool first = true;
  OnceSource once(source);
  BENTO_TRY(array.visit_down(once, entry.steps, oldest.number(), any,
                             [&](std::uint64_t step, const StepEntry& at) -> Result<bool> {
                               records += at.records;
                               if (!first) older.push_back({step, at.clip.has_value()});
                               first = false;
                               return records <= kMostRecords;
                             }));
  if (older.empty() || records > kMostRecords || !entry.steps.summary.any_records) return {};
  std::reverse(older.begin(), older.end());

  FindOptions options;
  options.budget.records = kMostRecords;
  options.budget.boxes = kMostBoxes;
  const auto shown = find_in_steps(source, entry, oldest, entry.steps.summary.bounds, options);
  if (!shown && shown.error().code == Code::kUnsupported) return {};  // too much work: they stay
  if (!shown) return fail(shown.error());
  std::set<std::uint64_t> seen;
  for (const auto& piece : shown->pieces) seen.insert(shown->records[piece.record].step.number());

  const auto gone = unseen(older, seen);
  if (gone.empty()) return {};
  BENTO_ASSIGN(entry.steps, array.remove(source, sink, entry.steps, gone));
  entry.dropped += gone.size();
  return {};
}

}  // namespace

Status forget_steps(SegmentSource& source, SegmentSink& sink, AbsoluteStep oldest,
                    DatasetEntry& entry) {
  BENTO_TRY(forget_covered(source, sink, oldest, entry));
  const std::uint64_t steps = entry.steps.summary.steps;
  const std::uint64_t written = entry.dropped + steps;
  if (steps < kLeastSteps || written % std::bit_floor(steps) != 0) return {};
  return forget_unseen(source, sink, oldest, entry);
}

}  // namespace bento
