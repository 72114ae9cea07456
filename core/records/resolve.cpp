// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/records/resolve.hpp"

#include <algorithm>
#include <optional>

#include "core/records/middle_cut.hpp"
#include "core/records/resolve_along.hpp"

namespace bento {

namespace {

/// A candidate takes half a kilobyte: what is halved are lists of where they are.
using Candidates = std::vector<const Candidate*>;

constexpr std::size_t kFew = 16;

/// Newest first, pieces subtracted one by one. For few candidates.
Status resolve_greedily(const Box& selection, const Candidates& newest_first, QueryBudget& budget,
                        Lookup& out) {
  std::vector<Box> rest{selection};
  std::vector<Box> next;
  for (const Candidate* const candidate : newest_first) {
    next.clear();
    for (const auto& box : rest) {
      if (overlaps(box, candidate->visible))
        out.pieces.push_back({candidate->record, intersect(box, candidate->visible)});
      subtract(box, candidate->visible, next);
    }
    rest.swap(next);
    if (rest.empty()) return {};
    BENTO_TRY(budget.spend(rest.size()));
    BENTO_TRY(budget.hold_boxes(rest.size() + out.uncovered.size() + out.pieces.size()));
  }
  out.uncovered.insert(out.uncovered.end(), rest.begin(), rest.end());
  return {};
}

std::optional<MiddleCut> cut_of(const Box& selection, const Candidates& candidates) {
  return middle_cut(selection, [&](unsigned d, const auto& visit) {
    for (const Candidate* const candidate : candidates) {
      visit(candidate->visible.start[d]);
      visit(candidate->visible.start[d] + candidate->visible.count[d]);
    }
  });
}

/// Subtracting many pieces from one box would cost their number squared, so the selection is halved
/// until few candidates are left. `candidates` come newest first.
Status resolve(const Box& selection, Candidates candidates, QueryBudget& budget, Lookup& out) {
  // Nothing older than a candidate that covers everything is seen.
  const auto cover = std::find_if(
      candidates.begin(), candidates.end(),
      [&](const Candidate* candidate) { return contains(candidate->visible, selection); });
  if (cover != candidates.end()) candidates.erase(cover + 1, candidates.end());
  std::optional<MiddleCut> cut;
  if (candidates.size() > kFew) cut = cut_of(selection, candidates);
  if (!cut) return resolve_greedily(selection, candidates, budget, out);
  BENTO_TRY(budget.spend(1 + candidates.size() / 16));
  const auto [lower, upper] = halves_of(selection, *cut);
  for (const Box& half : {lower, upper}) {
    Candidates touching;
    for (const Candidate* const candidate : candidates)
      if (overlaps(candidate->visible, half)) touching.push_back(candidate);
    BENTO_TRY(resolve(half, std::move(touching), budget, out));
  }
  return {};
}

}  // namespace

bool is_newer(const Candidate& a, const Candidate& b) {
  return a.order != b.order ? a.order > b.order : a.record > b.record;
}

Status resolve_latest(const Box& selection, std::vector<const Candidate*> candidates,
                      QueryBudget& budget, Lookup& out) {
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate* a, const Candidate* b) { return is_newer(*a, *b); });
  if (candidates.size() > kFew)
    if (const auto dimension = only_dimension(selection, candidates))
      return resolve_along(*dimension, selection, candidates, budget, out);
  return resolve(selection, std::move(candidates), budget, out);
}

Status resolve_latest(const Box& selection, std::span<const Candidate> candidates,
                      QueryBudget& budget, Lookup& out) {
  Candidates all;
  all.reserve(candidates.size());
  for (const Candidate& candidate : candidates) all.push_back(&candidate);
  return resolve_latest(selection, std::move(all), budget, out);
}

}  // namespace bento
