// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/uncertain_order.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/records/box_tree.hpp"

namespace bento {

namespace {

constexpr std::uint64_t kMostRecords = 1u << 20;
constexpr std::size_t kMostPairs = 1u << 22;
constexpr std::size_t kMostFound = 1000;

/// Records without what does not matter here.
struct Writes {
  std::vector<std::uint64_t> corners;
  std::vector<Order> orders;
};

Result<Writes> writes_of(const ContributionPart& part) {
  Writes writes;
  BENTO_ASSIGN(const auto runs, decode_runs(part));
  Status sound;
  for (const RecordRun& run : runs)
    run.for_each([&](std::span<const std::uint64_t> row) {
      if (!sound) return;
      auto record = from_row(part.shape, part.dataset, row);
      if (!record) {
        sound = fail(std::move(record).error());
        return;
      }
      append_corners(writes.corners, record->box);
      writes.orders.push_back(record->order);
    });
  BENTO_TRY(std::move(sound));
  return writes;
}

const ClockRun* clock_of(std::span<const ClockRun> clocks, std::uint32_t rank) {
  const auto behind = std::ranges::upper_bound(clocks, rank, {}, &ClockRun::first_rank);
  if (behind == clocks.begin()) return nullptr;
  const ClockRun& run = *std::prev(behind);
  return rank - run.first_rank < run.ranks ? &run : nullptr;
}

Dims common_element(const Writes& writes, unsigned rank, std::size_t a, std::size_t b) {
  Dims at(rank);
  for (unsigned d = 0; d < rank; ++d)
    at[d] = std::max(writes.corners[a * 2 * rank + d], writes.corners[b * 2 * rank + d]);
  return at;
}

/// Calls visit(a, b) for pairs of records that overlap until it says false.
bool for_each_overlap(const Writes& writes, unsigned rank,
                      const std::function<bool(std::size_t, std::size_t)>& visit) {
  if (rank != 0) {
    BoxTree tree;
    tree.build(writes.corners, rank, writes.orders.size());
    return tree.for_each_overlap(writes.corners, visit);
  }
  for (std::size_t a = 0; a < writes.orders.size(); ++a)  // of a scalar
    for (std::size_t b = 0; b < a; ++b)
      if (!visit(a, b)) return false;
  return true;
}

}  // namespace

Result<UncertainOrders> find_uncertain_order(const ContributionPart& part,
                                             std::span<const ClockRun> clocks) {
  UncertainOrders found;
  found.all = part.records <= kMostRecords;
  if (!found.all) return found;
  BENTO_ASSIGN(const Writes writes, writes_of(part));
  for (const Order& order : writes.orders)
    if (clock_of(clocks, order.rank) == nullptr)
      return fail(Code::kCorrupt, fmt::format("nothing is known of rank {}'s clock", order.rank));

  std::map<std::pair<std::uint32_t, std::uint32_t>, UncertainOrder> closest;
  std::size_t looked_at = 0;
  const auto look = [&](std::size_t a, std::size_t b) {
    if (++looked_at > kMostPairs || closest.size() == kMostFound) return false;
    if (writes.orders[b] < writes.orders[a]) std::swap(a, b);
    const Order& one = writes.orders[a];
    const Order& two = writes.orders[b];
    if (one.rank == two.rank || one.collective != two.collective) return true;
    const ClockRun& mine = *clock_of(clocks, one.rank);
    const ClockRun& other = *clock_of(clocks, two.rank);
    if (mine.node == other.node) return true;
    const UncertainOrder pair{one.rank, two.rank, two.time_ns - one.time_ns,
                              mine.doubt_ns + other.doubt_ns,
                              common_element(writes, part.shape.rank, a, b)};
    if (pair.apart_ns > pair.doubt_ns) return true;
    const auto [at, added] = closest.try_emplace(std::minmax(one.rank, two.rank), pair);
    if (!added && pair.apart_ns < at->second.apart_ns) at->second = pair;
    return true;
  };
  found.all = for_each_overlap(writes, part.shape.rank, look);
  for (auto& [ranks, pair] : closest) found.pairs.push_back(std::move(pair));
  return found;
}

}  // namespace bento
