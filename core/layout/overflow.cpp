// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/layout/overflow.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

namespace bento {

namespace {

std::uint64_t blocks_of(std::span<const ChunkFill> fills, std::uint32_t writer) {
  return writer < fills.size() ? fills[writer].size() : 0;
}

/// As many physical files as at create, so that as many can be written at a time.
FileGroup next_group(const ContainerPlan& plan, std::uint32_t ranks) {
  return {ranks, std::min(plan.groups().front().files, ranks), plan.file(0).chunk_bytes, 0};
}

/// Blocks that every writer of the group can have. The group must be one that can be added.
std::uint64_t room_of(ContainerPlan plan, const FileGroup& group, std::uint64_t limit) {
  const std::uint32_t first = plan.files();
  if (!plan.add(group)) return std::numeric_limits<std::uint64_t>::max();  // the caller finds out
  std::uint64_t room = std::numeric_limits<std::uint64_t>::max();
  for (std::uint32_t index = first; index < plan.files(); ++index)
    room = std::min(room, plan.file(index).blocks_within(limit));
  return room;
}

/// `expected(rank)`: blocks that the rank is taken to need in the next epoch.
std::optional<FileGroup> overflow(const ContainerPlan& plan, std::uint32_t ranks,
                                  std::span<const ChunkFill> fills, std::uint64_t limit,
                                  const std::function<std::uint64_t(std::uint32_t)>& expected) {
  const FileGroup group = next_group(plan, ranks);
  std::optional<std::uint64_t> fresh;
  for (std::uint32_t rank = 0; rank < std::min(ranks, plan.ranks()); ++rank) {
    const std::uint32_t writer = plan.writer_of_rank(rank);
    const std::uint64_t used = blocks_of(fills, writer);
    const std::uint64_t room = plan.file(plan.file_of(writer)).blocks_within(limit);
    // The block that was begun may be all but full, so one more than expected.
    const std::uint64_t wanted = std::max<std::uint64_t>(2, expected(rank) + 1);
    if (used + wanted <= room) continue;
    if (!fresh) fresh = room_of(plan, group, limit);
    // A new file is begun with one block. It helps who then has more room than now.
    const std::uint64_t left = room > used ? room - used : 0;
    if (*fresh > 1 + left) return group;
  }
  return std::nullopt;
}

}  // namespace

std::optional<FileGroup> overflow_at_commit(const ContainerPlan& plan, std::uint32_t ranks,
                                            std::span<const ChunkFill> before,
                                            std::span<const ChunkFill> now, std::uint64_t limit) {
  return overflow(plan, ranks, now, limit, [&](std::uint32_t rank) {
    const std::uint32_t writer = plan.writer_of_rank(rank);
    return blocks_of(now, writer) - std::min(blocks_of(now, writer), blocks_of(before, writer));
  });
}

std::optional<FileGroup> overflow_at_open(const ContainerPlan& plan, std::uint32_t ranks,
                                          std::span<const ChunkFill> fills, std::uint64_t steps,
                                          std::uint64_t limit) {
  // Of a rank that has gone on in new files before, all blocks count.
  std::vector<std::uint64_t> blocks(std::min(ranks, plan.ranks()), 0);
  std::uint32_t first = 0;
  for (const auto& group : plan.groups()) {
    for (std::uint32_t i = 0; i < group.writers && group.first_rank + i < blocks.size(); ++i)
      blocks[group.first_rank + i] += blocks_of(fills, first + i);
    first += group.writers;
  }
  return overflow(plan, ranks, fills, limit, [&](std::uint32_t rank) {
    return steps == 0 ? 0 : blocks[rank] / steps + (blocks[rank] % steps != 0 ? 1 : 0);
  });
}

}  // namespace bento
