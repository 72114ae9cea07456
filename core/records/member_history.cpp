// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/records/member_history.hpp"

#include <algorithm>
#include <unordered_map>

namespace bento {

MemberHistory::MemberHistory(const MemberWriteTable& writes) : table_(writes) {
  std::unordered_map<std::uint32_t, std::uint32_t> number;
  writer_.reserve(writes.size());
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const auto next = static_cast<std::uint32_t>(number.size());
    writer_.push_back(number.try_emplace(writes.write(i).order.rank, next).first->second);
  }
  own_.assign(number.size(), NearestBelow::kNone);
}

// A rank sees its own writes, those before an exchange that came before its write, and those of
// which it was told. Whoever wrote earlier has no larger collective count.
void MemberHistory::find_bases(std::span<const std::uint32_t> writes) {
  base_.resize(writes.size());
  exchanges_.clear();
  told_.clear();
  for (std::size_t at = writes.size(); at-- > 0;) {
    const auto& write = table_.write(writes[at]);
    std::size_t& own = own_[writer_[writes[at]]];
    std::size_t base = std::min({writes.size(), own, told_.find(write.seen_ns)});
    if (write.exchange != 0) base = std::min(base, exchanges_.find(write.exchange - 1));
    base_[at] = base;
    own = at;
    exchanges_.push(write.exchange, at);
    if (write.told_ns != 0) told_.push(write.told_ns, at);
  }
  for (const std::uint32_t write : writes) own_[writer_[write]] = NearestBelow::kNone;
}

// The latest record took the members that it did not bring from its base, and that from its own. A
// value that came between a record and its base is not in it. With times, a rank may also have seen
// more than is sure: then each of those between may be the base as well.
std::optional<LostWrite> MemberHistory::find_lost(std::span<const std::uint32_t> writes) {
  if (writes.empty()) return std::nullopt;
  find_bases(writes);
  taken_.assign(writes.size() + 1, false);
  taken_[0] = true;
  std::size_t all_taken_until = 0;
  std::size_t unseen_until = 0;
  std::uint32_t by = 0;
  MemberSet later(std::vector<std::uint64_t>(table_.members(writes[0]).words().size()));
  for (std::size_t at = 0; at < writes.size(); ++at) {
    const MemberSet& members = table_.members(writes[at]);
    if (at < unseen_until && !later.contains(members)) return LostWrite{writes[at], by};
    later.add(members);
    if (!taken_[at] && at >= all_taken_until) continue;
    const std::size_t base = base_[at];
    taken_[base] = true;
    if (table_.write(writes[at]).seen_ns != 0) all_taken_until = std::max(all_taken_until, base);
    if (base <= unseen_until) continue;
    unseen_until = base;
    by = writes[at];
  }
  return std::nullopt;
}

}  // namespace bento
