// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/stream/slice_cache.hpp"

#include <algorithm>

namespace bento {

const SliceCache::Slab* SliceCache::find(const Record& record, const Box& part, bool verified) {
  if (records_.size() >= kMostRecords && !records_.contains(record.where))
    drop_oldest(record.where);
  const auto [at, added] = records_.try_emplace(record.where);
  Known& known = at->second;
  known.before = known.move;
  known.move = added ? std::nullopt : move_of(known.last, part);
  known.last = part;
  known.used = ++clock_;
  const bool there = !known.slab.bytes.empty() && contains(known.slab.box, part) &&
                     (known.slab.verified || !verified);
  return there ? &known.slab : nullptr;
}

std::optional<SliceCache::Move> SliceCache::move_of(const Box& from, const Box& to) {
  if (!(from.count == to.count)) return std::nullopt;
  std::optional<Move> move;
  for (unsigned d = 0; d < to.rank(); ++d) {
    if (to.start[d] == from.start[d]) continue;
    if (move || to.start[d] < from.start[d] + to.count[d]) return std::nullopt;
    move = {d, to.start[d] - from.start[d]};
  }
  return move;
}

// Slices that follow each other are seen by one move from one to the next; those that leave some
// out, by two moves that are alike.
std::optional<Box> SliceCache::wider(const Record& record, const Box& part,
                                     std::uint64_t element_bytes) const {
  const auto found = records_.find(record.where);
  if (found == records_.end() || !found->second.move) return std::nullopt;
  const Known& known = found->second;
  const auto [d, step] = *known.move;
  const std::uint64_t left_out = step - part.count[d];
  Box slice = record.box;  // of the record, one element thick
  for (unsigned outer = 0; outer <= d; ++outer) slice.count[outer] = 1;
  if (left_out > 0 &&
      (known.before != known.move ||
       left_out > kGapBytes / std::max<std::uint64_t>(1, slice.count.bytes(element_bytes))))
    return std::nullopt;
  const Box& slab = known.slab.box;
  const bool goes_on = !known.slab.bytes.empty() &&
                       slab.start[d] + slab.count[d] <= part.start[d] &&
                       part.start[d] - (slab.start[d] + slab.count[d]) <= left_out;
  Box wide = part;
  wide.count[d] = step;
  // A program that goes through several records in turn comes back to each.
  const std::uint64_t share = kBytes / std::max<std::size_t>(2, records_.size());
  const std::uint64_t most = share / std::max<std::uint64_t>(1, wide.count.bytes(element_bytes));
  const std::uint64_t slices = goes_on ? most : std::min(most, kFirstSlices);
  if (slices < 2) return std::nullopt;
  wide.count[d] = std::min((slices - 1) * step + part.count[d],
                           record.box.start[d] + record.box.count[d] - part.start[d]);
  return wide;
}

const SliceCache::Slab& SliceCache::put(const Record& record, Slab slab) {
  Known& known = records_[record.where];
  known.slab = std::move(slab);
  while (bytes() > kBytes && records_.size() > 1) drop_oldest(record.where);
  return known.slab;
}

std::uint64_t SliceCache::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [where, each] : records_) sum += each.slab.bytes.size();
  return sum;
}

void SliceCache::drop_oldest(const Location& but) {
  auto oldest = records_.end();
  for (auto each = records_.begin(); each != records_.end(); ++each)
    if (each->first != but && (oldest == records_.end() || each->second.used < oldest->second.used))
      oldest = each;
  if (oldest != records_.end()) records_.erase(oldest);
}

}  // namespace bento
