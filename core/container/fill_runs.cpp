// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/fill_runs.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace bento {

namespace {

struct Run {
  std::uint64_t behind = 0;  ///< the first writer that is not of it
  ChunkFill fill;
};

Result<std::vector<Run>> decode_runs(std::span<const std::byte> bytes, std::uint64_t most) {
  ByteReader in(bytes, std::endian::little, "open message");
  std::vector<Run> runs;
  std::uint64_t behind = 0;
  while (in.remaining() > 0) {
    BENTO_ASSIGN(const std::uint64_t count, in.varint());
    BENTO_ASSIGN(const std::uint64_t blocks, in.varint());
    BENTO_TRY(in.fits(blocks, 1));
    if (count > kMaxWriters - behind)
      return fail(Code::kCorrupt, fmt::format("open message: {} streams more", count));
    behind += count;
    Run& run = runs.emplace_back(Run{behind, ChunkFill(static_cast<std::size_t>(blocks))});
    for (auto& used : run.fill) {
      BENTO_ASSIGN(used, in.varint());
      if (used > most)
        return fail(Code::kCorrupt, fmt::format("open message: {} bytes in a chunk", used));
    }
  }
  return runs;
}

}  // namespace

std::vector<std::uint32_t> own_writers(const ContainerPlan& plan, std::uint32_t rank,
                                       std::uint32_t ranks) {
  std::vector<std::uint32_t> own;
  std::uint32_t first = 0;
  for (const auto& group : plan.groups()) {
    const std::uint64_t skip = (rank + std::uint64_t{ranks} - group.first_rank % ranks) % ranks;
    for (std::uint64_t i = skip; i < group.writers; i += ranks)
      own.push_back(first + static_cast<std::uint32_t>(i));
    first += group.writers;
  }
  return own;
}

Bytes encode_fill_runs(std::span<const ChunkFill> fills) {
  ByteWriter out;
  for (std::size_t first = 0; first < fills.size();) {
    std::size_t behind = first + 1;
    while (behind < fills.size() && fills[behind] == fills[first]) ++behind;
    out.varint(behind - first);
    out.varint(fills[first].size());
    for (const auto used : fills[first]) out.varint(used);
    first = behind;
  }
  return std::move(out).take();
}

Result<std::map<std::uint32_t, ChunkFill>> decode_own_fills(std::span<const std::byte> bytes,
                                                            const ContainerPlan& plan,
                                                            std::uint32_t rank,
                                                            std::uint32_t ranks) {
  BENTO_ASSIGN(const auto runs, decode_runs(bytes, plan.largest_chunk()));
  std::map<std::uint32_t, ChunkFill> own;
  for (const std::uint32_t writer : own_writers(plan, rank, ranks)) {
    const auto run = std::ranges::upper_bound(runs, std::uint64_t{writer}, {},
                                              [](const Run& one) { return one.behind; });
    if (run != runs.end()) own.emplace(writer, run->fill);
  }
  return own;
}

void put_groups(ByteWriter& out, std::span<const FileGroup> groups) {
  out.varint(groups.size());
  for (const auto& group : groups) {
    out.varint(group.writers);
    out.varint(group.files);
    out.varint(group.chunk_bytes);
    out.varint(group.first_rank);
  }
}

Result<std::vector<FileGroup>> get_groups(ByteReader& in) {
  BENTO_ASSIGN(const std::uint64_t count, in.varint());
  BENTO_TRY(in.fits(count, 4));
  std::vector<FileGroup> groups(static_cast<std::size_t>(count));
  for (auto& group : groups) {
    const auto take = [&in](std::uint32_t& number) -> Status {
      BENTO_ASSIGN(const std::uint64_t read, in.varint());
      if (read > kMaxWriters) return fail(Code::kCorrupt, "open message: impossible group");
      number = static_cast<std::uint32_t>(read);
      return {};
    };
    BENTO_TRY(take(group.writers));
    BENTO_TRY(take(group.files));
    BENTO_ASSIGN(group.chunk_bytes, in.varint());
    BENTO_TRY(take(group.first_rank));
  }
  return groups;
}

}  // namespace bento
