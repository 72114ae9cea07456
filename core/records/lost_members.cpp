// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/records/lost_members.hpp"

#include <algorithm>
#include <numeric>

#include "core/records/box_tree.hpp"

namespace bento {

namespace {

class Finder {
 public:
  explicit Finder(const MemberWriteTable& writes) : writes_(writes) {
    if (writes.rank() != 0) tree_.build(writes.corners(), writes.rank(), writes.size());
  }

  // Where a value is lost, some write of other members did not see the one that brought it.
  std::optional<LostMembers> find() const {
    MemberSet every = writes_.sets().front();
    for (const auto& set : writes_.sets()) every.add(set);
    for (std::size_t i = 0; i < writes_.size(); ++i) {
      if (writes_.members(i).contains(every)) continue;
      const Box box = writes_.box(i);
      for (const std::size_t other : overlapping(box)) {
        if (sees(i, other) || order(other) > order(i) ||
            writes_.members(i).contains(writes_.members(other)))
          continue;
        const Box both = intersect(box, writes_.box(other));
        std::vector<std::size_t> later = overlapping(both);
        std::erase_if(later, [&](std::size_t one) { return order(one) <= order(other); });
        std::sort(later.begin(), later.end(),
                  [&](std::size_t a, std::size_t b) { return order(a) > order(b); });
        if (auto lost = look(other, both, later)) return lost;
      }
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] const Order& order(std::size_t at) const { return writes_.write(at).order; }

  [[nodiscard]] std::vector<std::size_t> overlapping(const Box& box) const {
    std::vector<std::size_t> found;
    if (writes_.rank() == 0) {  // of a scalar all are the same element
      found.resize(writes_.size());
      std::iota(found.begin(), found.end(), std::size_t{0});
    } else {
      tree_.find(writes_.corners(), box, found);
    }
    return found;
  }

  /// Did the rank of the first write know the second one when it wrote?
  [[nodiscard]] bool sees(std::size_t later, std::size_t earlier) const {
    const auto& one = writes_.write(later);
    const auto& two = writes_.write(earlier);
    if (one.order.rank == two.order.rank) return two.order < one.order;
    if (two.exchange < one.exchange) return true;
    return two.told_ns != 0 && two.told_ns <= one.seen_ns &&
           two.order.collective <= one.order.collective;
  }

  /// Of two at the same time, of which the second has the smaller order: may the first have seen
  /// it?
  [[nodiscard]] bool may_see(std::size_t later, std::size_t earlier) const {
    const auto& one = writes_.write(later);
    return one.seen_ns != 0 && one.order.rank != order(earlier).rank;
  }

  /// Is something that `from` brought to `box` lost there? `later`: what came after it, the latest
  /// first.
  [[nodiscard]] std::optional<LostMembers> look(std::size_t from, const Box& box,
                                                const std::vector<std::size_t>& later) const {
    std::vector<std::size_t> here;
    for (const std::size_t one : later)
      if (overlaps(writes_.box(one), box)) here.push_back(one);
    for (const std::size_t one : here) {
      const Box inside = intersect(box, writes_.box(one));
      if (inside == box) continue;
      std::vector<Box> parts{inside};
      subtract(box, inside, parts);
      for (const Box& part : parts)
        if (auto lost = look(from, part, here)) return lost;
      return std::nullopt;
    }
    return judge(from, box, here);
  }

  /// All of `later` fill the box. Follows the members that nobody has written since: each record
  /// took them from the latest one that its rank saw.
  [[nodiscard]] std::optional<LostMembers> judge(std::size_t from, const Box& box,
                                                 const std::vector<std::size_t>& later) const {
    MemberSet brought = writes_.members(from);
    for (const std::size_t one : later) brought.remove(writes_.members(one));
    if (later.empty() || brought.empty()) return std::nullopt;
    std::vector<bool> known(later.size(), false);
    const std::optional<std::size_t> record = without(from, later, 0, known);
    if (!record) return std::nullopt;
    return LostMembers{box, order(from).rank, order(*record).rank};
  }

  /// The write that has, or may have, other values than those of `from` where the one at `at` has
  /// them from. `known`: those of which it is known that they have the right ones.
  [[nodiscard]] std::optional<std::size_t> without(std::size_t from,
                                                   const std::vector<std::size_t>& later,
                                                   std::size_t at, std::vector<bool>& known) const {
    const std::size_t first = at;
    for (std::size_t i = at + 1; i < later.size(); ++i) {
      if (sees(later[at], later[i])) {
        at = i;
      } else if (may_see(later[at], later[i]) && !known[i]) {
        if (auto found = without(from, later, i, known)) return found;
      }
    }
    if (!sees(later[at], from)) return later[at];
    known[first] = true;
    return std::nullopt;
  }

  const MemberWriteTable& writes_;
  BoxTree tree_;
};

}  // namespace

std::optional<LostMembers> find_lost_members(const MemberWriteTable& writes) {
  if (writes.size() == 0) return std::nullopt;
  return Finder(writes).find();
}

}  // namespace bento
