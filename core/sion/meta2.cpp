// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/sion/meta2.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/sion/constants.hpp"
#include "core/sion/layout.hpp"

namespace bento {
namespace {

/// Delivers `count` bytes at `offset` (relative to META2), which the caller has checked to be
/// there.
using Fetch =
    std::function<Result<std::vector<std::byte>>(std::uint64_t offset, std::uint64_t count)>;

/// Size rows are decoded in pieces of about this many bytes, so that bytes and numbers are not both
/// in memory as a whole.
constexpr std::uint64_t kPieceBytes = 1u << 20;

tl::unexpected<Error> bad(std::string text) {
  return fail(Code::kCorrupt, "META2: " + std::move(text));
}

Result<Meta2> decode_counts(const Fetch& fetch, const Meta2Bounds& bounds) {
  BENTO_ASSIGN(const auto bytes, fetch(0, 8 * bounds.tasks));
  ByteReader in(bytes, bounds.order, "META2");
  BENTO_ASSIGN(std::vector<std::uint64_t> counts, in.array_u64(bounds.tasks));
  std::uint64_t rows = 0;
  for (std::size_t task = 0; task < counts.size(); ++task) {
    if (counts[task] > bounds.max_blocks)
      return bad(fmt::format("{} blocks of task {} at byte {}, maxchunks is {}",
                             static_cast<std::int64_t>(counts[task]), task, 8 * task,
                             bounds.max_blocks));
    rows = std::max(rows, counts[task]);
  }
  if (rows != 0 && bounds.tasks > kMaxSionSizeEntries / rows)
    return bad(fmt::format("{} tasks with {} blocks, this code holds {} sizes", bounds.tasks, rows,
                           kMaxSionSizeEntries));
  return Meta2(std::move(counts));
}

Status decode_sizes(const Fetch& fetch, const Meta2Bounds& bounds, Meta2& meta) {
  const std::uint64_t row_bytes = 8 * bounds.tasks;
  const std::uint64_t rows_at_once =
      std::max<std::uint64_t>(1, kPieceBytes / std::max<std::uint64_t>(1, row_bytes));
  const std::uint64_t rows = meta.max_blocks();
  for (std::uint64_t row = 0; row < rows; row += rows_at_once) {
    const std::uint64_t piece = std::min(rows_at_once, rows - row);
    BENTO_ASSIGN(const auto bytes, fetch(row_bytes * (1 + row), row_bytes * piece));
    ByteReader in(bytes, bounds.order, "META2");
    for (std::uint64_t i = 0; i < piece * bounds.tasks; ++i) {
      BENTO_ASSIGN(const std::uint64_t size, in.u64());
      const std::uint64_t block = row + i / bounds.tasks;
      const std::uint64_t task = i % bounds.tasks;
      if (block >= meta.blocks(task)) continue;
      if (size > bounds.chunk_bytes[task])
        return bad(fmt::format("{} bytes in block {} of task {} at byte {}, its chunks have {}",
                               static_cast<std::int64_t>(size), block, task,
                               row_bytes * (1 + block) + 8 * task, bounds.chunk_bytes[task]));
      meta.set_size(task, block, size);
    }
  }
  return {};
}

/// Sums of sizes must be numbers, too: chunk sizes alone do not bound them.
Status check_sums(const Meta2& meta) {
  for (std::uint64_t task = 0; task < meta.tasks(); ++task) {
    std::uint64_t sum = 0;
    for (std::uint64_t block = 0; block < meta.blocks(task); ++block) {
      if (__builtin_add_overflow(sum, meta.size(task, block), &sum) || sum > kMaxSionOffset)
        return bad(fmt::format("the sizes of task {} add up to more than 63 bits", task));
    }
  }
  return {};
}

Result<Meta2> decode(const Fetch& fetch, std::uint64_t available, const Meta2Bounds& bounds) {
  BENTO_ASSIGN(const std::uint64_t wanted, sion_meta2_bytes(bounds.tasks, bounds.max_blocks));
  if (wanted > available)
    return bad(fmt::format("{} tasks with up to {} blocks need {} bytes, {} are left", bounds.tasks,
                           bounds.max_blocks, wanted, available));
  BENTO_ASSIGN(Meta2 meta, decode_counts(fetch, bounds));
  BENTO_TRY(decode_sizes(fetch, bounds, meta));
  BENTO_TRY(check_sums(meta));
  return meta;
}

}  // namespace

Meta2::Meta2(std::vector<std::uint64_t> block_counts) : counts_(std::move(block_counts)) {
  sizes_.resize(max_blocks() * tasks());
}

std::uint64_t Meta2::max_blocks() const {
  return counts_.empty() ? 0 : *std::max_element(counts_.begin(), counts_.end());
}

std::uint64_t Meta2::stream_bytes(std::uint64_t task) const {
  std::uint64_t sum = 0;
  for (std::uint64_t block = 0; block < counts_[task]; ++block) sum += size(task, block);
  return sum;
}

void Meta2::set_blocks(std::uint64_t task, std::uint64_t blocks) {
  counts_[task] = blocks;
  if (sizes_.size() < blocks * tasks()) sizes_.resize(blocks * tasks());
}

bool Meta2::operator==(const Meta2& other) const {
  if (counts_ != other.counts_) return false;
  for (std::uint64_t task = 0; task < tasks(); ++task) {
    for (std::uint64_t block = 0; block < blocks(task); ++block) {
      if (size(task, block) != other.size(task, block)) return false;
    }
  }
  return true;
}

void Meta2::set_size(std::uint64_t task, std::uint64_t block, std::uint64_t bytes) {
  if (block >= counts_[task]) set_blocks(task, block + 1);
  sizes_[block * tasks() + task] = bytes;
}

std::vector<std::byte> encode_meta2(const Meta2& meta, std::endian order) {
  ByteWriter out(order);
  const std::uint64_t blocks = meta.max_blocks();
  out.reserve(8 * meta.tasks() * (1 + blocks));
  for (std::uint64_t task = 0; task < meta.tasks(); ++task) out.u64(meta.blocks(task));
  for (std::uint64_t block = 0; block < blocks; ++block) {
    for (std::uint64_t task = 0; task < meta.tasks(); ++task) out.u64(meta.size(task, block));
  }
  return std::move(out).take();
}

Result<Meta2> read_meta2(File& file, std::uint64_t address, const Meta2Bounds& bounds) {
  BENTO_ASSIGN(const std::uint64_t file_bytes, file.size());
  if (address > file_bytes)
    return bad(fmt::format("begins at {} in a file of {} bytes", address, file_bytes));
  const Fetch fetch = [&](std::uint64_t offset,
                          std::uint64_t count) -> Result<std::vector<std::byte>> {
    std::vector<std::byte> bytes(static_cast<std::size_t>(count));
    BENTO_TRY(file.read_at(address + offset, bytes));
    return bytes;
  };
  return decode(fetch, file_bytes - address, bounds);
}

Result<Meta2> decode_meta2(std::span<const std::byte> bytes, const Meta2Bounds& bounds) {
  const Fetch fetch = [&](std::uint64_t offset,
                          std::uint64_t count) -> Result<std::vector<std::byte>> {
    const auto part =
        bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(count));
    return std::vector<std::byte>(part.begin(), part.end());
  };
  return decode(fetch, bytes.size(), bounds);
}

}  // namespace bento
