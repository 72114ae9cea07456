// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/layout/one_file.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace bento {

Result<ContainerPlan> in_one_file(const ContainerPlan& from, std::uint32_t fs_block) {
  std::vector<FileGroup> groups(from.groups().begin(), from.groups().end());
  for (FileGroup& group : groups) {
    if (group.chunk_bytes != groups.front().chunk_bytes)
      return fail(Code::kUnsupported, fmt::format("its files have chunks of {} and of {} bytes",
                                                  groups.front().chunk_bytes, group.chunk_bytes));
    group.files = 0;
  }
  if (!groups.empty()) groups.front().files = 1;
  BENTO_ASSIGN(ContainerPlan to, ContainerPlan::of(groups, fs_block));
  // SION's chunks are whole blocks of the file system, as META1 says them; those of many tasks are
  // large, since the root slots lie in front of the first chunk.
  const FilePlan& file = to.file(0);
  if (file.chunk_bytes == 0 || file.chunk_bytes % file.fsblksize != 0)
    return fail(Code::kUnsupported,
                fmt::format("its chunks have {} bytes, and chunks of {} writers in one file must "
                            "be a multiple of {}",
                            file.chunk_bytes, file.writers, file.fsblksize));
  return to;
}

StreamParts::StreamParts(const ContainerPlan& from, const ContainerPlan& to,
                         std::span<const ChunkFill> fills)
    : from_(from), to_(to), fills_(fills) {
  for (const ChunkFill& fill : fills) blocks_ = std::max(blocks_, fill.size());
}

std::optional<StreamPart> StreamParts::next() {
  for (; block_ < blocks_; ++block_, writer_ = 0) {
    while (writer_ < fills_.size()) {
      const std::uint32_t writer = writer_++;
      const ChunkFill& fill = fills_[writer];
      if (block_ >= fill.size() || fill[block_] == 0) continue;
      const std::uint32_t file = from_.file_of(writer);
      const FilePlan& old = from_.file(file);
      const Position position = block_ * old.chunk_bytes;
      return StreamPart{file, old.address(from_.local_task(writer), position),
                        to_.file(0).address(writer, position), fill[block_]};
    }
  }
  return std::nullopt;
}

StreamPart catalogue_part(const ContainerPlan& from, const ContainerPlan& to, std::uint64_t block,
                          Position end) {
  const FilePlan& old = from.file(0);
  const FilePlan& one = to.file(0);
  const Position begin = block * old.chunk_bytes;
  return {0, old.address(old.catalogue_task(), begin), one.address(one.catalogue_task(), begin),
          begin < end ? std::min(old.chunk_bytes, end - begin) : 0};
}

}  // namespace bento
