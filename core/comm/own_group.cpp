// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/comm/own_group.hpp"

#include <algorithm>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/comm/equal_keys.hpp"

namespace bento {

namespace {

// Messages are those of this program: all of a kind have one length.

/// A key, and behind it whether there is another one among the ranks.
Bytes same_key(std::span<const std::byte> lower, std::span<const std::byte> higher) {
  Bytes both(lower.begin(), lower.end());
  if (!std::ranges::equal(lower, higher)) both.back() = std::byte{1};
  return both;
}

/// Lowest rank and number of ranks.
Bytes join_ranks(std::span<const std::byte> one, std::span<const std::byte> other) {
  ByteReader left(one, std::endian::little, "ranks of a group");
  ByteReader right(other, std::endian::little, "ranks of a group");
  ByteWriter out;
  out.u32(std::min(left.u32().value_or(0), right.u32().value_or(0)));
  out.u32(left.u32().value_or(0) + right.u32().value_or(0));
  return std::move(out).take();
}

Bytes sum(std::span<const std::byte> lower, std::span<const std::byte> higher) {
  ByteReader left(lower, std::endian::little, "number of groups");
  ByteReader right(higher, std::endian::little, "number of groups");
  ByteWriter out;
  out.u32(left.u32().value_or(0) + right.u32().value_or(0));
  return std::move(out).take();
}

}  // namespace

Result<OwnGroup> find_own_group(Communicator& ranks, const Hash128& key) {
  ByteWriter mine;
  mine.bytes(key);
  mine.u8(0);
  BENTO_ASSIGN(const Bytes merged, ranks.combine(mine.view(), &same_key));
  BENTO_ASSIGN(const Bytes several,
               ranks.broadcast(std::span(merged).last(merged.empty() ? 0 : 1)));
  OwnGroup own;
  own.several = !several.empty() && several.front() != std::byte{0};
  own.ranks = static_cast<std::uint32_t>(ranks.size());
  if (!own.several) return own;
  ByteWriter payload;
  payload.u32(static_cast<std::uint32_t>(ranks.rank()));
  payload.u32(1);
  BENTO_ASSIGN(const Bytes found, combine_equal(ranks, key, payload.view(), &join_ranks));
  ByteReader in(found, std::endian::little, "ranks of a group");
  BENTO_ASSIGN(own.leader, in.u32());
  BENTO_ASSIGN(own.ranks, in.u32());
  return own;
}

Result<std::uint32_t> count_groups(Communicator& ranks, const OwnGroup& own) {
  if (!own.several) return 1;
  ByteWriter leads;
  leads.u32(own.leader == static_cast<std::uint32_t>(ranks.rank()) ? 1 : 0);
  BENTO_ASSIGN(const Bytes merged, ranks.combine(leads.view(), &sum));
  BENTO_ASSIGN(const Bytes told, ranks.broadcast(merged));
  ByteReader in(told, std::endian::little, "number of groups");
  return in.u32();
}

}  // namespace bento
