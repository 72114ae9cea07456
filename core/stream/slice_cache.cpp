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
  known.before = added ? std::nullopt : std::optional(known.last);
  known.last = part;
  known.used = ++clock_;
  const bool there = !known.slab.bytes.empty() && contains(known.slab.box, part) &&
                     (known.slab.verified || !verified);
  return there ? &known.slab : nullptr;
}

std::optional<Box> SliceCache::wider(const Record& record, const Box& part,
                                     std::uint64_t element_bytes) const {
  const auto found = records_.find(record.where);
  if (found == records_.end() || !found->second.before) return std::nullopt;
  const Known& known = found->second;
  const Box& before = *known.before;
  if (!(before.count == part.count)) return std::nullopt;
  std::optional<unsigned> moved;
  for (unsigned d = 0; d < part.rank(); ++d) {
    if (part.start[d] == before.start[d]) continue;
    if (moved || part.start[d] != before.start[d] + part.count[d]) return std::nullopt;
    moved = d;
  }
  if (!moved) return std::nullopt;
  const unsigned d = *moved;
  const bool goes_on = !known.slab.bytes.empty() &&
                       known.slab.box.start[d] + known.slab.box.count[d] == part.start[d];
  // A program that goes through several records in turn comes back to each.
  const std::uint64_t share = kBytes / std::max<std::size_t>(2, records_.size());
  const std::uint64_t most = share / std::max<std::uint64_t>(1, part.count.bytes(element_bytes));
  const std::uint64_t slices = goes_on ? most : std::min(most, kFirstSlices);
  if (slices < 2) return std::nullopt;
  Box wide = part;
  wide.count[d] =
      std::min(slices * part.count[d], record.box.start[d] + record.box.count[d] - part.start[d]);
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
