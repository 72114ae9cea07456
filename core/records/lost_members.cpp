// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/records/lost_members.hpp"

#include <algorithm>
#include <limits>

#include "core/records/member_history.hpp"
#include "core/records/middle_cut.hpp"

namespace bento {

namespace {

/// The least of some writers' numbers, leaving out those of any one writer.
class LeastOfOthers {
 public:
  void add(std::uint32_t writer, std::uint64_t value) {
    if (writer == writer_) {
      least_ = std::min(least_, value);
    } else if (value < least_) {
      others_ = least_;
      least_ = value;
      writer_ = writer;
    } else {
      others_ = std::min(others_, value);
    }
  }
  [[nodiscard]] std::uint64_t besides(std::uint32_t writer) const {
    return writer == writer_ ? others_ : least_;
  }

 private:
  static constexpr std::uint64_t kNothing = std::numeric_limits<std::uint64_t>::max();
  std::uint32_t writer_ = std::numeric_limits<std::uint32_t>::max();
  std::uint64_t least_ = kNothing;
  std::uint64_t others_ = kNothing;  ///< of all but writer_
};

/// Halves the space until all writes of a box fill it, and asks for one of its elements.
class Finder {
 public:
  explicit Finder(const MemberWriteTable& writes)
      : writes_(writes), history_(writes), every_(writes.sets().front()) {
    for (const auto& set : writes.sets()) every_.add(set);
  }

  std::optional<LostMembers> find() {
    std::vector<std::uint32_t> all;
    all.reserve(writes_.size());
    for (std::uint32_t i = 0; i < writes_.size(); ++i)
      if (!empty(i)) all.push_back(i);
    if (all.empty()) return std::nullopt;
    std::sort(all.begin(), all.end(), [&](std::uint32_t a, std::uint32_t b) {
      return writes_.write(a).order > writes_.write(b).order;
    });
    Box bounds = writes_.box(all.front());
    for (unsigned d = 0; d < bounds.rank(); ++d) {
      std::uint64_t low = start(all.front(), d);
      std::uint64_t high = end(all.front(), d);
      for (const std::uint32_t one : all) {
        low = std::min(low, start(one, d));
        high = std::max(high, end(one, d));
      }
      bounds.start[d] = low;
      bounds.count[d] = high - low;
    }
    return look(bounds, std::move(all));
  }

 private:
  [[nodiscard]] std::uint64_t start(std::uint32_t at, unsigned d) const {
    return writes_.corners()[std::size_t{at} * 2 * writes_.rank() + d];
  }
  [[nodiscard]] std::uint64_t end(std::uint32_t at, unsigned d) const {
    return start(at, d) + writes_.corners()[(std::size_t{at} * 2 + 1) * writes_.rank() + d];
  }
  [[nodiscard]] bool empty(std::uint32_t at) const {
    for (unsigned d = 0; d < writes_.rank(); ++d)
      if (start(at, d) == end(at, d)) return true;
    return false;
  }
  [[nodiscard]] bool fills(std::uint32_t at, const Box& box) const {
    for (unsigned d = 0; d < box.rank(); ++d)
      if (start(at, d) > box.start[d] || end(at, d) < box.start[d] + box.count[d]) return false;
    return true;
  }

  /// `writes`: those that overlap the box, the latest first.
  std::optional<LostMembers> look(const Box& box, std::vector<std::uint32_t> writes) {
    forget_what_is_safe(box, writes);
    if (writes.empty()) return std::nullopt;
    const auto cut = cut_of(box, writes);
    if (!cut) {
      const auto found = history_.find_lost(writes);
      if (!found) return std::nullopt;
      return LostMembers{box, writes_.write(found->lost).order.rank,
                         writes_.write(found->by).order.rank};
    }
    const auto [lower, upper] = halves_of(box, *cut);
    std::vector<std::uint32_t> part;
    for (const std::uint32_t one : writes)
      if (start(one, cut->dimension) < cut->at) part.push_back(one);
    if (auto lost = look(lower, std::move(part))) return lost;
    std::erase_if(writes, [&](std::uint32_t one) { return end(one, cut->dimension) <= cut->at; });
    return look(upper, std::move(writes));
  }

  /// Drops the earliest writes up to the first one of which something may be lost. Nothing is
  /// where all members were written later, or where all later writes of some members saw it.
  void forget_what_is_safe(const Box& box, std::vector<std::uint32_t>& writes) const {
    std::size_t kept = 0;
    MemberSet later(std::vector<std::uint64_t>(every_.words().size()));
    LeastOfOthers exchange;
    LeastOfOthers seen;
    for (std::size_t at = 0; at < writes.size(); ++at) {
      const auto& write = writes_.write(writes[at]);
      const MemberSet& members = writes_.members(writes[at]);
      const std::uint32_t writer = history_.writer(writes[at]);
      const bool told = write.told_ns != 0 && write.told_ns <= seen.besides(writer);
      if (exchange.besides(writer) <= write.exchange && !told && !later.contains(members))
        kept = at + 1;
      if (fills(writes[at], box)) later.add(members);
      if (members.contains(every_)) continue;
      exchange.add(writer, write.exchange);
      seen.add(writer, write.seen_ns);
    }
    writes.resize(kept);
  }

  [[nodiscard]] std::optional<MiddleCut> cut_of(const Box& box,
                                                const std::vector<std::uint32_t>& writes) const {
    return middle_cut(box, [&](unsigned d, const auto& visit) {
      for (const std::uint32_t one : writes) {
        visit(start(one, d));
        visit(end(one, d));
      }
    });
  }

  const MemberWriteTable& writes_;
  MemberHistory history_;
  MemberSet every_;
};

}  // namespace

std::optional<LostMembers> find_lost_members(const MemberWriteTable& writes) {
  if (writes.size() == 0) return std::nullopt;
  return Finder(writes).find();
}

}  // namespace bento
