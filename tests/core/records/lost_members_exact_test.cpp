// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// find_lost_members() against its definition, followed element by element, and what it costs.
#include <algorithm>
#include <random>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <catch2/catch_test_macros.hpp>

#include "core/records/lost_members.hpp"

namespace bento {
namespace {

using Write = MemberWriteTable::Write;

constexpr unsigned kMembers = 4;

MemberSet members_of(std::uint64_t bits) {
  return MemberSet({bits});
}

bool sees(const Write& later, const Write& earlier) {
  if (later.order.rank == earlier.order.rank) return true;
  if (earlier.exchange < later.exchange) return true;
  return earlier.told_ns != 0 && earlier.told_ns <= later.seen_ns;
}

/// One element: its writes, the latest first.
class Element {
 public:
  Element(const MemberWriteTable& table, const Box& element) {
    for (std::size_t i = 0; i < table.size(); ++i)
      if (element.rank() == 0 || overlaps(table.box(i), element))
        writes_.push_back({table.write(i), table.members(i)});
    std::sort(writes_.begin(), writes_.end(),
              [](const One& a, const One& b) { return a.write.order > b.write.order; });
  }

  /// Pairs of ranks: that of which something is lost, and that which did not see it.
  [[nodiscard]] std::set<std::pair<std::uint32_t, std::uint32_t>> lost() const {
    std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (std::size_t from = 1; from < writes_.size(); ++from) {
      MemberSet brought = writes_[from].members;
      for (std::size_t i = 0; i < from; ++i) brought.remove(writes_[i].members);
      if (brought.empty()) continue;
      std::set<std::uint32_t> without;
      follow(0, from, without);
      for (const std::uint32_t rank : without) pairs.insert({writes_[from].write.order.rank, rank});
    }
    return pairs;
  }

 private:
  struct One {
    Write write;
    MemberSet members;
  };

  /// What `at` did not write it took from the latest one that its rank saw; where there are times,
  /// maybe from one that came between.
  void follow(std::size_t at, std::size_t from, std::set<std::uint32_t>& without) const {
    for (std::size_t i = at + 1; i < from; ++i) {
      if (sees(writes_[at].write, writes_[i].write))
        at = i;
      else if (writes_[at].write.seen_ns != 0)
        follow(i, from, without);
    }
    if (!sees(writes_[at].write, writes_[from].write)) without.insert(writes_[at].write.order.rank);
  }

  std::vector<One> writes_;
};

std::string text_of(const MemberWriteTable& table) {
  std::string text;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const Write& one = table.write(i);
    text += fmt::format(
        "collective {} time {} rank {} exchange {} seen {} told {} start [{}] count [{}] {:x}\n",
        one.order.collective, one.order.time_ns, one.order.rank, one.exchange, one.seen_ns,
        one.told_ns, fmt::join(table.box(i).start.view(), ","),
        fmt::join(table.box(i).count.view(), ","), table.members(i).words()[0]);
  }
  return text;
}

/// Not all of them can be: ranks also see and are told of things in an order that no program has.
class RandomTables {
 public:
  explicit RandomTables(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  Dims extent() {
    switch (below(4)) {
      case 0:
        return Dims{};
      case 1:
        return Dims{1 + below(8)};
      case 2:
        return Dims{4, 3};
      default:
        return Dims{2, 3, 2};
    }
  }

  MemberWriteTable table(const Dims& extent) {
    MemberWriteTable table(extent.rank(), 1);
    const std::uint64_t writes = 1 + below(10);
    const std::uint64_t ranks = 1 + below(4);
    const bool with_times = below(2) == 0;
    const bool in_order = below(3) != 0;
    std::uint64_t collective = 0;
    std::uint64_t exchange = 0;
    for (std::uint64_t i = 0; i < writes; ++i) {
      if (below(4) == 0) ++collective;
      if (below(6) == 0) ++exchange;
      Write write;
      const std::uint64_t now = 10 * i + 10;
      write.order = {in_order ? collective : below(3), now,
                     static_cast<std::uint32_t>(below(ranks))};
      write.exchange = in_order ? exchange : below(3);
      if (with_times) {
        write.seen_ns = below(8) == 0 ? 0 : now - std::min(now - 1, below(40));
        write.told_ns = below(8) == 0 ? 0 : now + below(40);
      }
      const std::uint64_t all = (1u << kMembers) - 1;
      write.members = table.intern(members_of(below(4) == 0 ? all : 1 + below(all)));
      table.push(box(extent), write);
    }
    return table;
  }

 private:
  Box box(const Dims& extent) {
    Box box{Dims(extent.rank()), Dims(extent.rank())};
    for (unsigned d = 0; d < extent.rank(); ++d) {
      box.start[d] = below(extent[d]);
      box.count[d] = 1 + below(extent[d] - box.start[d]);
      if (below(3) == 0) box.start[d] = 0, box.count[d] = extent[d];
    }
    return box;
  }

  std::mt19937_64 random_;
};

/// Checks what was found in a table, and says whether something was.
bool check(const MemberWriteTable& table, const Dims& extent) {
  INFO(text_of(table));
  const auto found = find_lost_members(table);
  bool lost = false;
  (void)for_each_part(Box::whole(extent), 1, [&](const Box& one) -> Status {
    const auto pairs = Element(table, one).lost();
    lost = lost || !pairs.empty();
    if (found && contains(found->where, one)) CHECK(pairs.contains({found->writer, found->by}));
    return {};
  });
  REQUIRE(found.has_value() == lost);
  return lost;
}

}  // namespace

TEST_CASE("lost members: the verdict is that of the definition", "[core][index]") {
  RandomTables random(20260);
  std::size_t lost = 0;
  for (int round = 0; round < 20000; ++round) {
    const Dims extent = random.extent();
    MemberWriteTable table = random.table(extent);
    if (check(table, extent)) ++lost;
    if (extent.rank() == 0 || round % 4 != 0) continue;
    Dims smaller = extent;
    for (unsigned d = 0; d < extent.rank(); ++d) smaller[d] = 1 + random.below(extent[d]);
    table.clip(smaller);
    if (table.size() != 0) check(table, smaller);
  }
  CHECK(lost > 4000);
  CHECK(lost < 16000);
}

namespace {

/// Ranks take turns; each sees what was written before.
void push_in_turn(MemberWriteTable& table, const Box& box, std::uint64_t turn, std::uint64_t ranks,
                  std::uint64_t members) {
  Write write;
  const std::uint64_t now = 10 * turn + 10;
  write.order = {1, now + 1, static_cast<std::uint32_t>(turn % ranks)};
  write.seen_ns = now;
  write.told_ns = now + 2;
  write.members = table.intern(members_of(members));
  table.push(box, write);
}

}  // namespace

// With a cost that grows with the square, the first of these and the last one take minutes.

TEST_CASE("lost members: the same elements again and again", "[core][index]") {
  constexpr std::uint64_t kWrites = 400000;
  for (const unsigned rank : {0u, 1u, 2u}) {
    const Dims extent(rank, 64);
    MemberWriteTable table(rank, 1);
    push_in_turn(table, Box::whole(extent), 0, 3, 8);  // of this one something is needed at the end
    for (std::uint64_t i = 1; i < kWrites; ++i)
      push_in_turn(table, Box::whole(extent), i, 3, 1 + i % 3);
    CHECK_FALSE(find_lost_members(table));
    Write blind;
    blind.order = {1, 10 * kWrites + 20, 7};
    blind.members = table.intern(members_of(4));
    table.push(Box::whole(extent), blind);
    const auto lost = find_lost_members(table);
    REQUIRE(lost);
    CHECK(lost->by == 7);
  }
}

TEST_CASE("lost members: many elements, a few writes of each", "[core][index]") {
  constexpr std::uint64_t kElements = 100000;
  MemberWriteTable table(1, 1);
  push_in_turn(table, {Dims{0}, Dims{kElements}}, 0, 2, 15);
  for (std::uint64_t turn = 1; turn < 5; ++turn)
    for (std::uint64_t at = 0; at < kElements; ++at)
      push_in_turn(table, {Dims{at}, Dims{1}}, turn * kElements + at, 2, 1 + turn % 2);
  CHECK_FALSE(find_lost_members(table));
}

TEST_CASE("lost members: boxes that grow write by write", "[core][index]") {
  constexpr std::uint64_t kWrites = 100000;
  MemberWriteTable table(1, 1);
  for (std::uint64_t i = 0; i < kWrites; ++i)
    push_in_turn(table, {Dims{0}, Dims{1 + i / 2}}, i, 2, 1 + i % 2);
  CHECK_FALSE(find_lost_members(table));
}

}  // namespace bento
