// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/records/lost_members.hpp"

#include <algorithm>
#include <array>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <catch2/catch_test_macros.hpp>

#include "tests/support/matchers.hpp"

namespace bento {
namespace {

using test::must;
using test::require_error;

constexpr std::array<std::size_t, 3> kUsed = {0, 63, 69};  // of the first, and of a second word

/// The set that has these of kUsed, by their bits.
MemberSet members_of(unsigned bits) {
  std::vector<std::uint64_t> words(2);
  for (unsigned i = 0; i < kUsed.size(); ++i)
    if ((bits >> i & 1) != 0) words[kUsed[i] / 64] |= std::uint64_t{1} << kUsed[i] % 64;
  return MemberSet(std::move(words));
}

/// Ranks that write and exchange, as a container does: what is stored, and what should be.
class Model {
 public:
  Model(unsigned ranks, Dims extent) : extent_(std::move(extent)), logs_(ranks), seen_(ranks) {}

  void exchange() {
    ++exchanges_;
    for (auto& seen : seen_) seen = writes_.size();
  }

  /// Where ranks see each other's writes: all have been told of what there is.
  void tell(std::uint64_t time_ns) {
    for (auto& log : logs_) log.told(time_ns);
    for (auto& seen : seen_) seen = writes_.size();
  }

  void write(std::uint32_t rank, const Box& box, unsigned bits, Order order,
             std::uint64_t seen_ns = 0) {
    Write write{box, order, bits, exchanges_, {}};
    for_each_element(box, [&](std::size_t at) {
      const Write* below = nullptr;
      for (std::size_t i = 0; i < writes_.size(); ++i) {
        const Write& one = writes_[i];
        const bool known = i < seen_[rank] || one.order.rank == rank;
        if (known && one.values.contains(at) && (below == nullptr || one.order > below->order))
          below = &one;
      }
      Element element{};
      if (below != nullptr) element = below->values.at(at);
      for (unsigned m = 0; m < kUsed.size(); ++m)
        if ((bits >> m & 1) != 0) element[m] = static_cast<int>(writes_.size() + 1);
      write.values[at] = element;
    });
    writes_.push_back(std::move(write));
    Record record;
    record.box = box;
    record.order = order;
    const auto others =
        std::count_if(writes_.begin(), writes_.begin() + static_cast<std::ptrdiff_t>(seen_[rank]),
                      [&](const Write& one) { return one.order.rank != rank; });
    logs_[rank].add(record, members_of(bits), bits != 7, exchanges_, false,
                    {seen_ns, seen_ns == 0 ? 0 : static_cast<std::uint64_t>(others)});
  }

  [[nodiscard]] bool right() const {
    bool all = true;
    for_each_element(Box::whole(extent_), [&](std::size_t at) {
      Element stored{};
      Element wanted{};
      Order top{};
      std::array<Order, kUsed.size()> last{};
      for (std::size_t i = 0; i < writes_.size(); ++i) {
        const Write& one = writes_[i];
        if (!one.values.contains(at)) continue;
        if (one.order > top) {
          top = one.order;
          stored = one.values.at(at);
        }
        for (unsigned m = 0; m < kUsed.size(); ++m)
          if ((one.bits >> m & 1) != 0 && one.order > last[m]) {
            last[m] = one.order;
            wanted[m] = static_cast<int>(i + 1);
          }
      }
      all = all && stored == wanted;
    });
    return all;
  }

  [[nodiscard]] std::optional<LostMembers> found() const {
    std::vector<std::byte> bytes;
    for (const auto& log : logs_) {
      const auto one = log.encode({0});
      bytes.insert(bytes.end(), one.begin(), one.end());
    }
    const auto all = must(decode_member_writes(bytes));
    return all.empty() ? std::nullopt : find_lost_members(all.at(0));
  }

  [[nodiscard]] std::string text() const {
    std::string text;
    for (const auto& one : writes_)
      text += fmt::format("rank {} time {} exchange {} start [{}] count [{}] members {:03b}\n",
                          one.order.rank, one.order.time_ns, one.exchange,
                          fmt::join(one.box.start.view(), ","),
                          fmt::join(one.box.count.view(), ","), one.bits);
    return text;
  }

 private:
  using Element = std::array<int, kUsed.size()>;
  struct Write {
    Box box;
    Order order;
    unsigned bits;
    std::uint64_t exchange;
    std::map<std::size_t, Element> values;
  };

  template <class Action>
  void for_each_element(const Box& box, const Action& action) const {
    const Box whole = Box::whole(extent_);
    (void)for_each_part(box, 1, [&](const Box& one) -> Status {
      action(static_cast<std::size_t>(row_major_offset(whole, one)));
      return {};
    });
  }

  Dims extent_;
  std::uint64_t exchanges_ = 0;
  std::vector<Write> writes_;
  std::vector<MemberWrites> logs_;
  std::vector<std::size_t> seen_;
};

}  // namespace

TEST_CASE("lost members: found if and only if something is lost", "[core][index]") {
  std::mt19937_64 random(20250);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  std::size_t wrong = 0;
  for (int round = 0; round < 4000; ++round) {
    const unsigned ranks = 2 + static_cast<unsigned>(below(2));
    const Dims extent = round % 8 == 0 ? Dims{} : round % 2 == 0 ? Dims{5} : Dims{3, 3};
    Model model(ranks, extent);
    std::uint64_t collective = 0;
    std::array<std::uint64_t, 3> clock = {below(10), below(10), below(10)};  // they differ
    const std::uint64_t steps = 2 + below(8);
    for (std::uint64_t i = 0; i < steps; ++i) {
      if (below(5) == 0) {
        model.exchange();
        ++collective;
        continue;
      }
      Box box{Dims(extent.rank()), Dims(extent.rank())};
      for (unsigned d = 0; d < extent.rank(); ++d) {
        box.start[d] = below(extent[d]);
        box.count[d] =
            below(3) == 0 ? extent[d] - box.start[d] : 1 + below(extent[d] - box.start[d]);
        if (below(2) == 0) box.start[d] = 0, box.count[d] = extent[d];
      }
      const auto rank = static_cast<std::uint32_t>(below(ranks));
      for (auto& time : clock) time += 1 + below(3);
      const unsigned bits = below(3) == 0 ? 7 : 1 + static_cast<unsigned>(below(6));
      model.write(rank, box, bits, {collective, clock[rank], rank});
    }
    INFO(model.text());
    REQUIRE(model.found().has_value() == !model.right());
    if (!model.right()) ++wrong;
  }
  CHECK(wrong > 500);
  CHECK(wrong < 3500);
}

// Each writes over a part of what there is. Now and then several do so at the same time: none sees
// the others.
TEST_CASE("lost members: what others were told of is not lost", "[core][index]") {
  std::mt19937_64 random(20251);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  std::size_t wrong = 0;
  std::size_t refused = 0;
  for (int round = 0; round < 4000; ++round) {
    const Dims extent = round % 8 == 0 ? Dims{} : round % 2 == 0 ? Dims{5} : Dims{3, 3};
    Model model(3, extent);
    const bool in_turn = round % 3 != 0;
    std::uint64_t now = 1;
    std::uint64_t collective = 0;
    std::uint64_t seen = now;
    std::set<std::uint32_t> writing;
    const std::uint64_t steps = 2 + below(8);
    for (std::uint64_t i = 0; i < steps; ++i) {
      if (below(9) == 0) ++collective;
      Box box{Dims(extent.rank()), Dims(extent.rank())};
      for (unsigned d = 0; d < extent.rank(); ++d) {
        box.start[d] = below(extent[d]);
        box.count[d] = 1 + below(extent[d] - box.start[d]);
        if (below(2) == 0) box.start[d] = 0, box.count[d] = extent[d];
      }
      const auto rank = static_cast<std::uint32_t>(below(3));
      if (in_turn || writing.contains(rank) || below(2) == 0) {
        model.tell(++now);
        writing.clear();
        seen = ++now;
      }
      writing.insert(rank);
      const unsigned bits = below(4) == 0 ? 7 : 1 + static_cast<unsigned>(below(6));
      model.write(rank, box, bits, {collective, ++now, rank}, seen);
    }
    model.tell(++now);
    INFO(model.text());
    if (!model.right()) {
      ++wrong;
      REQUIRE(model.found());
    }
    if (in_turn) REQUIRE(model.right());
    if (in_turn) REQUIRE_FALSE(model.found());
    if (model.found()) ++refused;
  }
  CHECK(wrong > 100);
  CHECK(refused < wrong + wrong / 4);
}

TEST_CASE("lost members: who has lost what, and where", "[core][index]") {
  Model model(3, Dims{10});
  model.write(2, {Dims{0}, Dims{6}}, 7, {1, 10, 2});
  model.write(1, {Dims{4}, Dims{6}}, 1, {1, 20, 1});
  const auto lost = model.found();
  REQUIRE(lost);
  CHECK(lost->writer == 2);
  CHECK(lost->by == 1);
  CHECK(lost->where == Box{Dims{4}, Dims{2}});
  model.write(0, {Dims{4}, Dims{2}}, 7, {1, 30, 0});
  CHECK_FALSE(model.found());  // written whole meanwhile
}

TEST_CASE("lost members: boxes that interleave are apart", "[core][index]") {
  Model model(2, Dims{64});
  for (std::uint64_t at = 0; at < 64; ++at) {
    const auto rank = static_cast<std::uint32_t>(at % 2);
    model.write(rank, {Dims{at}, Dims{1}}, 1, {1, 2 * at, rank});
    model.write(rank, {Dims{at}, Dims{1}}, 2, {1, 2 * at + 1, rank});
  }
  CHECK_FALSE(model.found());
}

TEST_CASE("member writes: a record that grew, an extent that shrank, a dataset that is gone",
          "[core][index]") {
  MemberWrites log;
  Record record;
  const auto add = [&](std::uint64_t start, std::uint64_t count, unsigned bits, bool grew) {
    record.box = {Dims{start}, Dims{count}};
    ++record.order.time_ns;
    log.add(record, members_of(bits), bits != 7, 0, grew, {});
  };
  const auto table = [&] {
    auto all = must(decode_member_writes(log.encode({0})));
    return all.empty() ? MemberWriteTable() : all.at(0);
  };
  add(0, 2, 7, false);
  CHECK(log.partial().empty());
  CHECK(log.continues(0, members_of(7), 0));
  CHECK_FALSE(log.continues(0, members_of(1), 0));
  CHECK_FALSE(log.continues(0, members_of(7), 1));
  CHECK_FALSE(log.continues(1, members_of(7), 0));
  add(2, 3, 7, true);
  CHECK(table().size() == 2);  // each part is as late as it was written
  CHECK(table().box(0) == Box{Dims{0}, Dims{2}});
  CHECK(table().box(1) == Box{Dims{2}, Dims{3}});
  CHECK(table().write(0).order.time_ns == 1);
  CHECK(table().write(1).order.time_ns == 2);
  add(0, 5, 1, false);
  add(0, 5, 7, false);  // in the place of the first
  CHECK(log.partial() == std::set<DatasetNumber>{0});
  CHECK(table().size() == 2);
  add(8, 2, 7, false);
  log.clip(0, Dims{4});
  CHECK(table().size() == 2);
  CHECK(table().box(1) == Box{Dims{0}, Dims{4}});
  add(0, 1, 2, false);
  add(1, 3, 2, true);
  CHECK(table().size() == 4);
  log.clip(0, Dims{3});
  CHECK(table().size() == 4);
  CHECK(table().box(2) == Box{Dims{0}, Dims{1}});
  CHECK(table().box(3) == Box{Dims{1}, Dims{2}});
  log.forget(0);
  CHECK(log.partial().empty());
  CHECK(table().size() == 0);
}

TEST_CASE("member writes: each part of a record that grew was told of at its time",
          "[core][index]") {
  MemberWrites log;
  Record record;
  const auto add = [&](std::uint64_t start, std::uint64_t count, std::uint64_t seen_ns) {
    record.box = {Dims{start}, Dims{count}};
    record.order.time_ns = seen_ns + 1;
    log.add(record, members_of(1), true, 0, start != 0, {seen_ns, 0});
  };
  add(0, 2, 10);
  CHECK(log.any_untold());
  log.told(12);
  CHECK_FALSE(log.any_untold());
  add(2, 1, 20);
  add(3, 1, 22);
  log.told(24);
  add(4, 3, 30);
  const auto all = must(decode_member_writes(log.encode({0})));
  const MemberWriteTable& table = all.at(0);
  REQUIRE(table.size() == 4);
  CHECK(table.write(0).told_ns == 12);
  CHECK(table.write(1).told_ns == 24);
  CHECK(table.write(2).told_ns == 24);
  CHECK(table.write(3).told_ns == 0);
  CHECK(table.write(0).seen_ns == 10);
  CHECK(table.write(2).seen_ns == 22);
  CHECK(table.write(3).seen_ns == 30);
  add(7, 1, 40);
  log.clip(0, Dims{3});
  log.told(50);
  const auto cut = must(decode_member_writes(log.encode({0})));
  REQUIRE(cut.at(0).size() == 2);
  CHECK(cut.at(0).write(1).told_ns == 24);
}

TEST_CASE("member writes: damaged bytes are refused", "[core][index]") {
  MemberWrites log;
  Record record;
  record.box = {Dims{1, 2}, Dims{3, 4}};
  record.order = {1, 1000000, 3};
  log.add(record, members_of(2), true, 1, false, {});
  const auto bytes = log.encode({0});
  for (std::size_t size = 1; size < bytes.size(); ++size)
    require_error(decode_member_writes(std::span(bytes).first(size)), Code::kCorrupt);
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    auto damaged = bytes;
    damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    (void)decode_member_writes(damaged);
  }
}

}  // namespace bento
