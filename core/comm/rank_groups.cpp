// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/comm/rank_groups.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"

namespace bento {

namespace {

struct KeyRun {
  Hash128 key{};
  std::uint32_t ranks = 0;
};

Bytes encode(const std::vector<KeyRun>& runs) {
  ByteWriter out;
  for (const auto& run : runs) {
    out.bytes(run.key);
    out.u32(run.ranks);
  }
  return std::move(out).take();
}

Result<std::vector<KeyRun>> decode(std::span<const std::byte> bytes) {
  ByteReader in(bytes, std::endian::little, "groups of ranks");
  std::vector<KeyRun> runs;
  while (in.remaining() > 0) {
    KeyRun run;
    BENTO_ASSIGN(const auto key, in.bytes(run.key.size()));
    std::copy(key.begin(), key.end(), run.key.begin());
    BENTO_ASSIGN(run.ranks, in.u32());
    runs.push_back(run);
  }
  return runs;
}

// Messages are those of this program: what cannot be read comes out as no ranks at all, which
// make() refuses.
Bytes merge(std::span<const std::byte> lower, std::span<const std::byte> higher) {
  auto runs = decode(lower);
  const auto more = decode(higher);
  if (!runs || !more) return {};
  for (const auto& run : *more) {
    if (!runs->empty() && runs->back().key == run.key)
      runs->back().ranks += run.ranks;
    else
      runs->push_back(run);
  }
  return encode(*runs);
}

}  // namespace

Result<RankGroups> RankGroups::make(Communicator& ranks, const Hash128& key) {
  BENTO_ASSIGN(const Bytes merged, ranks.combine(encode({{key, 1}}), &merge));
  BENTO_ASSIGN(const Bytes told, ranks.broadcast(merged));
  BENTO_ASSIGN(const auto runs, decode(told));
  RankGroups groups;
  groups.identity_ = hash128(told);
  std::map<Hash128, std::uint32_t> numbers;
  std::uint32_t rank = 0;
  for (const auto& run : runs) {
    const auto [known, added] = numbers.try_emplace(run.key, groups.count());
    if (added) groups.leaders_.push_back(rank);
    groups.runs_.push_back({known->second, run.ranks});
    rank += run.ranks;
  }
  if (rank != static_cast<std::uint32_t>(ranks.size()))
    return fail(Code::kInternal, fmt::format("groups of {} ranks, of {}", rank, ranks.size()));
  return groups;
}

RankGroups RankGroups::of_one(std::uint32_t ranks, const Hash128& key) {
  RankGroups groups;
  groups.identity_ = hash128(encode({{key, ranks}}));
  groups.leaders_.push_back(0);
  groups.runs_.push_back({0, ranks});
  return groups;
}

std::uint32_t RankGroups::group_of(std::uint32_t rank) const {
  for (const auto& run : runs_) {
    if (rank < run.ranks) return run.group;
    rank -= run.ranks;
  }
  return 0;
}

OwnGroup RankGroups::own(std::uint32_t rank) const {
  const std::uint32_t group = group_of(rank);
  OwnGroup own{leader_of(group), 0, count() > 1};
  for (const auto& run : runs_)
    if (run.group == group) own.ranks += run.ranks;
  return own;
}

std::vector<std::uint32_t> RankGroups::groups() const {
  std::vector<std::uint32_t> all;
  for (const auto& run : runs_) all.insert(all.end(), run.ranks, run.group);
  return all;
}

}  // namespace bento
