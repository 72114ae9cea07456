// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/comm/node_clock.hpp"

#include <algorithm>
#include <limits>

#include "core/base/hash.hpp"
#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/comm/equal_keys.hpp"

namespace bento {

namespace {

Bytes both(std::span<const std::byte> lower, std::span<const std::byte> higher) {
  Bytes all(lower.begin(), lower.end());
  all.insert(all.end(), higher.begin(), higher.end());
  return all;
}

/// Only the leader of a node brings something.
Bytes the_leaders(std::span<const std::byte> one, std::span<const std::byte> other) {
  const auto brought = one.empty() ? other : one;
  return {brought.begin(), brought.end()};
}

Hash128 key_of(const OwnGroup& node) {
  ByteWriter leader;
  leader.u32(node.leader);
  return hash128(leader.view());
}

}  // namespace

// What rank 0's clock shows lies between the moment when this rank sends its message up, and the
// one when it has the answer. In the first round ranks come at different times.
Result<ClockOffset> measure_clock(Communicator& ranks, const OwnGroup& node, std::int64_t base_ns,
                                  const std::function<std::int64_t()>& steady_ns) {
  constexpr int kRounds = 5;
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (int round = 0; round < kRounds; ++round) {
    const std::int64_t before = steady_ns();
    BENTO_ASSIGN(const Bytes up, ranks.combine({}, &both));
    ByteWriter out;
    if (ranks.rank() == 0) out.i64(steady_ns() + base_ns);
    BENTO_ASSIGN(const Bytes down, ranks.broadcast(out.view()));
    const std::int64_t after = steady_ns();
    ByteReader in(down, std::endian::little, "time of rank 0");
    BENTO_ASSIGN(const std::int64_t there, in.i64());
    least = std::max(least, there - after);
    most = std::min(most, there - before);
  }
  ByteWriter own;
  if (node.leader == static_cast<std::uint32_t>(ranks.rank())) {
    const bool first = ranks.rank() == 0;
    own.i64(first ? base_ns : least + (most - least) / 2);
    own.u64(first ? 0
                  : static_cast<std::uint64_t>(std::max<std::int64_t>(most - least, 0)) / 2 + 1);
  }
  BENTO_ASSIGN(const Bytes told, combine_equal(ranks, key_of(node), own.view(), &the_leaders));
  ByteReader in(told, std::endian::little, "clock of this node");
  ClockOffset found;
  BENTO_ASSIGN(found.offset_ns, in.i64());
  BENTO_ASSIGN(found.error_ns, in.u64());
  return found;
}

}  // namespace bento
