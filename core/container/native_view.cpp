// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/native_view.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fmt/format.h>

#include "core/base/checked.hpp"

namespace bento {

namespace {
constexpr std::uint64_t kReserveBytes = 16u << 10;  // HDF5 asks for many small pieces
}

Result<std::uint64_t> ViewSpace::within_limit(std::uint64_t address, std::uint64_t bytes) const {
  if (address + bytes > kMaxLogicalBytes)
    return fail(Code::kNoSpace,
                fmt::format("'{}': the native view would lie beyond {} bytes; use another chunk= "
                            "(errno = {})",
                            file_->path(), kMaxLogicalBytes, EFBIG),
                EFBIG);
  return address;
}

Result<std::uint64_t> ViewSpace::allocate(std::uint64_t bytes) {
  const std::uint64_t chunk = plan_->chunk_bytes;
  if (bytes > chunk) return allocate_in_blocks(bytes);
  Position at = round_up(reserve_.begin, 8);
  if (at + bytes > reserve_.end) {
    give_back();
    const std::uint64_t wanted = std::min(chunk, std::max(bytes, kReserveBytes));
    at = space_->take_in_chunk(wanted, chunk);
    reserve_ = {at, at + wanted};
    ranges_.push_back({at, at});
  }
  BENTO_ASSIGN(const std::uint64_t address,
               within_limit(plan_->address(plan_->catalogue_task(), at), bytes));
  reserve_.begin = at + bytes;
  ranges_.back().end = reserve_.begin;
  return address;
}

// Blocks are taken where no writer has used bytes, and every stream is made to go on behind them
// before the view is switched on. So they stay the view's, and nobody writes over it.
Result<std::uint64_t> ViewSpace::allocate_in_blocks(std::uint64_t bytes) {
  const std::uint64_t block = plan_->block_bytes();
  if (bytes > kMaxLogicalBytes) return within_limit(0, bytes);
  if (blocks_.empty() || round_up(blocks_.back().bytes, 8) + bytes > blocks_.back().count * block) {
    const auto unused = [&](std::uint64_t number) {
      // Block 0 has the file block of each stream, at the latest when that is begun.
      return number > 0 && std::ranges::all_of(fills_, [&](const ChunkFill& fill) {
               return number >= fill.size() || fill[static_cast<std::size_t>(number)] == 0;
             });
    };
    give_back();
    const std::uint64_t count = bytes / block + (bytes % block != 0 ? 1 : 0);
    blocks_.push_back({space_->take_chunks(count, plan_->chunk_bytes, unused), count, 0});
  }
  ViewBlocks& run = blocks_.back();
  const std::uint64_t at = round_up(run.bytes, 8);
  BENTO_ASSIGN(const std::uint64_t address,
               within_limit(plan_->block_address(run.first) + at, bytes));
  run.bytes = at + bytes;
  return address;
}

std::uint64_t ViewSpace::chunks_to_skip() const {
  std::uint64_t end = 0;
  for (const auto& run : blocks_) end = std::max(end, run.end() + 1);
  return end;
}

void ViewSpace::give_back() {
  space_->give_back(reserve_);
  reserve_ = {};
}

Status ViewSpace::finish() {
  give_back();
  BENTO_ASSIGN(const std::uint64_t file_bytes, file_->size());
  std::uint64_t end = 0;
  for (const auto& run : blocks_) end = std::max(end, plan_->block_address(run.first) + run.bytes);
  if (end <= file_bytes) return {};
  return file_->write_at(end - 1, std::array{std::byte{0}});  // allocated and never written
}

}  // namespace bento
