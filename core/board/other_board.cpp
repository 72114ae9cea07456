// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/board/other_board.hpp"

namespace bento {

NeighbourBoard::NeighbourBoard(int descriptor, std::uint32_t index, const RankHead& head)
    : head_(&head),
      log_(descriptor, log_offset(index), kMostBoardBytes, false),
      areas_{SharedWindow(descriptor, area_offset(index, 0), kMostBoardBytes, false),
             SharedWindow(descriptor, area_offset(index, 1), kMostBoardBytes, false)} {}

LogHead NeighbourBoard::head() const {
  return LogHead::of(head_->log.load(std::memory_order_acquire));
}

Result<std::span<const std::byte>> NeighbourBoard::log(std::uint64_t from, std::uint64_t to) {
  BENTO_TRY(log_.reach(to));
  return std::span<const std::byte>(log_.data() + from, static_cast<std::size_t>(to - from));
}

Result<bool> NeighbourBoard::with_bytes(const BufferPlace& place, std::uint64_t bytes,
                                        const Use& use) {
  const auto& generation = head_->generation[place.area];
  SharedWindow& area = areas_[place.area];
  BENTO_TRY(area.reach(place.offset + bytes));
  if (generation.load(std::memory_order_acquire) != place.generation) return false;
  use({area.data() + place.offset, static_cast<std::size_t>(bytes)});
  std::atomic_thread_fence(std::memory_order_acquire);
  return generation.load(std::memory_order_relaxed) == place.generation;
}

Result<bool> RemoteBoard::with_bytes(const BufferPlace& place, std::uint64_t bytes,
                                     const Use& use) {
  if (bytes == 0) return true;
  BENTO_ASSIGN(const auto found, nodes_->area(rank_, place, bytes));
  if (found.empty()) return false;
  use(found);
  return true;
}

}  // namespace bento
