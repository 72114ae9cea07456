// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/sion/layout.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/checked.hpp"
#include "core/sion/constants.hpp"

namespace bento {
namespace {

/// A product and a sum that must both be file offsets.
Result<std::uint64_t> offset_at(std::uint64_t start, std::uint64_t count, std::uint64_t each) {
  BENTO_ASSIGN(const std::uint64_t distance, checked_mul(count, each));
  BENTO_ASSIGN(const std::uint64_t offset, checked_add(start, distance));
  if (offset > kMaxSionOffset)
    return fail(Code::kCorrupt, fmt::format("{} + {} * {} is no file offset", start, count, each));
  return offset;
}

}  // namespace

std::uint64_t sion_meta1_bytes(std::uint64_t tasks, bool with_tail) {
  return kSionFixedBytes + kSionTaskBytes * tasks + (with_tail ? kSionTailBytes : 0);
}

Result<std::uint64_t> sion_data_start(std::uint64_t tasks, std::uint64_t fsblksize) {
  if (fsblksize == 0) return fail(Code::kCorrupt, "fsblksize 0: no start of data");
  BENTO_ASSIGN(const std::uint64_t end, offset_at(kSionBaseBytes, tasks, kSionTaskBytes));
  return checked_round_up(end, fsblksize);
}

Result<std::uint64_t> sion_meta2_bytes(std::uint64_t tasks, std::uint64_t blocks) {
  BENTO_ASSIGN(const std::uint64_t rows, checked_add(blocks, 1));
  BENTO_ASSIGN(const std::uint64_t entries, checked_mul(tasks, rows));
  return offset_at(0, entries, 8);
}

std::string sion_file_name(const std::string& name, std::uint32_t index) {
  return index == 0 ? name : fmt::format("{}.{:06}", name, index);
}

std::uint32_t sion_file_of_task(std::uint32_t task, std::uint32_t tasks, std::uint32_t files) {
  return std::min(task / (tasks / files), files - 1);
}

Result<SionLayout> SionLayout::make(std::uint64_t fsblksize,
                                    std::span<const std::uint64_t> chunk_bytes) {
  SionLayout layout;
  BENTO_ASSIGN(layout.data_start_, sion_data_start(chunk_bytes.size(), fsblksize));
  layout.starts_.reserve(chunk_bytes.size() + 1);
  std::uint64_t sum = 0;
  layout.starts_.push_back(sum);
  for (std::size_t task = 0; task < chunk_bytes.size(); ++task) {
    const std::uint64_t bytes = chunk_bytes[task];
    if (bytes > kMaxSionOffset - layout.data_start_ - sum)
      return fail(Code::kCorrupt,
                  fmt::format("chunk of task {} ends beyond 63 bits: {} + {} + {} bytes", task,
                              layout.data_start_, sum, bytes));
    sum += bytes;
    layout.starts_.push_back(sum);
  }
  return layout;
}

Result<std::uint64_t> SionLayout::chunk_address(std::uint64_t task, std::uint64_t block) const {
  if (task >= tasks())
    return fail(Code::kInvalidArgument,
                fmt::format("chunk of task {}: there are {}", task, tasks()));
  return offset_at(data_start_ + starts_[task], block, block_bytes());
}

Result<std::uint64_t> SionLayout::meta2_address(std::uint64_t blocks) const {
  return offset_at(data_start_, blocks, block_bytes());
}

}  // namespace bento
