// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/records/part_candidates.hpp"

#include <algorithm>

#include "core/records/box_tree.hpp"

namespace bento {

Status PartCandidates::add(const Index& index, DatasetNumber dataset, const TimesOf& times_of,
                           const GapsOf& gaps_of, std::uint64_t newest) {
  const std::size_t first = candidates_.size();
  BENTO_TRY(index.candidates(dataset, selection_, candidates_));
  const auto begin = candidates_.begin() + static_cast<std::ptrdiff_t>(first);
  candidates_.erase(
      std::remove_if(begin, candidates_.end(),
                     [&](const Candidate& one) { return one.order.collective > newest; }),
      candidates_.end());
  for (std::size_t i = first; i < candidates_.size(); ++i) {
    const std::size_t position = candidates_[i].record;
    candidates_[i].record += base_;
    if (const WriteTimes* const times = times_of(position); times != nullptr)
      grown_.push_back({i, index.record(dataset, position).box, times});
    if (const RecordGaps* const gaps = gaps_of(position); gaps != nullptr)
      gapped_.push_back({i, gaps});
  }
  base_ += index.size(dataset);
  return {};
}

// Of another rank, written at whatever collective count: a write with gaps has not seen it, or has
// a copy of it.
std::vector<PartCandidates::Beside> PartCandidates::beside_other_ranks() const {
  std::vector<Beside> found(candidates_.size(), Beside::kOwn);
  const unsigned rank = selection_.rank();
  if (rank == 0) return found;  // a scalar's records have no parts
  std::vector<std::uint64_t> corners;
  corners.reserve(candidates_.size() * 2 * rank);
  for (const Candidate& candidate : candidates_) append_corners(corners, candidate.visible);
  BoxTree tree;
  tree.build(corners, rank, candidates_.size());
  tree.for_each_overlap(corners, [&](std::size_t a, std::size_t b) {
    const Order& one = candidates_[a].order;
    const Order& two = candidates_[b].order;
    if (one.rank == two.rank) return true;
    const Beside beside =
        one.collective == two.collective ? Beside::kOtherRankAtTheSameCall : Beside::kOtherRank;
    found[a] = std::max(found[a], beside);
    found[b] = std::max(found[b], beside);
    return true;
  });
  return found;
}

// A later part is a candidate of its own, which is seen over the record as a whole. Of a record
// with gaps the whole is no candidate.
Result<Lookup> PartCandidates::resolve() && {
  if (!grown_.empty() || !gapped_.empty()) {
    const std::vector<Beside> beside = beside_other_ranks();
    for (const Grown& grown : grown_) {
      if (beside[grown.candidate] != Beside::kOtherRankAtTheSameCall) continue;
      BENTO_TRY(
          for_each_later_part(grown.whole, *grown.times,
                              [&](const Box& box, std::uint64_t, std::uint64_t time_ns) -> Status {
                                Candidate part = candidates_[grown.candidate];
                                part.visible = intersect(part.visible, box);
                                part.order.time_ns = time_ns;
                                if (!part.visible.empty() && overlaps(part.visible, selection_))
                                  candidates_.push_back(std::move(part));
                                return {};
                              }));
    }
    for (const Gapped& gapped : gapped_) {
      if (beside[gapped.candidate] == Beside::kOwn) continue;
      const Candidate whole = candidates_[gapped.candidate];
      candidates_[gapped.candidate].visible.count[0] = 0;
      gapped.gaps->for_each_written(intersect(whole.visible, selection_), [&](const Box& box) {
        candidates_.push_back({whole.record, whole.order, box});
      });
    }
    std::erase_if(candidates_, [](const Candidate& one) { return one.visible.empty(); });
  }
  Lookup out;
  QueryBudget budget;
  BENTO_TRY(resolve_latest(selection_, candidates_, budget, out));
  return out;
}

}  // namespace bento
