// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/records/part_candidates.hpp"

#include <algorithm>

#include "core/records/box_tree.hpp"

namespace bento {

Status PartCandidates::add(const Index& index, DatasetNumber dataset, const TimesOf& times_of,
                           std::uint64_t newest) {
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
  }
  base_ += index.size(dataset);
  return {};
}

// Per candidate: does one of another rank, written at the same collective count, lie over it?
std::vector<bool> PartCandidates::beside_other_ranks() const {
  std::vector<bool> found(candidates_.size(), false);
  const unsigned rank = selection_.rank();
  if (rank == 0) return found;  // a scalar's records do not grow
  std::vector<std::uint64_t> corners;
  corners.reserve(candidates_.size() * 2 * rank);
  for (const Candidate& candidate : candidates_)
    for (const auto& corner : {candidate.visible.start, candidate.visible.count})
      corners.insert(corners.end(), corner.view().begin(), corner.view().end());
  BoxTree tree;
  tree.build(corners, rank, candidates_.size());
  tree.for_each_overlap(corners, [&](std::size_t a, std::size_t b) {
    const Order& one = candidates_[a].order;
    const Order& two = candidates_[b].order;
    if (one.rank != two.rank && one.collective == two.collective) found[a] = found[b] = true;
    return true;
  });
  return found;
}

// A later part is a candidate of its own, which is seen over the record as a whole.
Result<Lookup> PartCandidates::resolve() && {
  if (!grown_.empty()) {
    const std::vector<bool> beside = beside_other_ranks();
    for (const Grown& grown : grown_) {
      if (!beside[grown.candidate]) continue;
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
  }
  Lookup out;
  QueryBudget budget;
  BENTO_TRY(resolve_latest(selection_, std::move(candidates_), budget, out));
  return out;
}

}  // namespace bento
