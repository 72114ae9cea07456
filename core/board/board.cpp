// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/board/board.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace bento {

namespace {
/// Memory of a log or an area that stays when it is emptied.
constexpr std::uint64_t kKeptBytes = std::uint64_t{8} << 20;
}  // namespace

Board::Board(int descriptor, std::uint32_t index, NodeHead& node, std::span<RankHead> heads)
    : node_(&node),
      heads_(heads),
      mine_(&heads[index]),
      log_window_(descriptor, log_offset(index)),
      areas_{ExposedWindow(descriptor, area_offset(index, 0)),
             ExposedWindow(descriptor, area_offset(index, 1))} {}

Status Board::expose(RemoteMemory& remote, LogWord& word) {
  word_ = &word;
  BENTO_TRY(log_window_.begin(remote));
  for (ExposedWindow& area : areas_) BENTO_TRY(area.begin(remote));
  return {};
}

void Board::leave() {
  log_window_.leave();
  for (ExposedWindow& area : areas_) area.leave();
}

// A rank that has not come out of a commit or exchange yet counts it before it returns to the
// program: nothing that is seen after it is missed by that rank.
void Board::set_collective(std::uint64_t count) {
  mine_->collective.store(count);
  if (!std::exchange(all_known_, true)) all_at_ = count;
}

bool Board::all_came_to(std::uint64_t count) const {
  if (word_ != nullptr) return count <= all_at_;
  return std::ranges::all_of(
      heads_, [count](const RankHead& head) { return head.collective.load() >= count; });
}

std::byte* Board::reach(std::uint64_t bytes) {
  if (!areas_[area_].reach(bytes)) throw std::bad_alloc();
  used_[area_] = std::max(used_[area_], bytes);
  return areas_[area_].data();
}

Status Board::empty_area() {
  BENTO_TRY(publish());
  mine_->generation[area_].fetch_add(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  areas_[area_].give_back(kKeptBytes);
  return {};
}

// What is published then leads nobody to the other area.
Status Board::switch_area() {
  BENTO_TRY(publish());
  area_ = 1 - area_;
  mine_->generation[area_].fetch_add(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  return {};
}

std::uint64_t Board::buffered(const Record& record, std::uint64_t offset, const WriteTimes& times) {
  const std::uint64_t generation = mine_->generation[area_].load(std::memory_order_relaxed);
  log_.buffered(record, {area_, generation, offset}, times);
  return next_++;
}

std::uint64_t Board::placed(const Record& record) {
  log_.placed(record);
  return next_++;
}

// Either the reader, who says what it has looked at before it looks, finds the new head, or this
// rank finds that somebody has looked.
Status Board::publish() {
  const auto fresh = log_.view();
  if (fresh.empty()) return {};
  BENTO_TRY(log_window_.reach(head_.bytes + fresh.size()));
  BENTO_TRY(log_window_.expose(head_.bytes + fresh.size()));
  for (unsigned area = 0; area < 2; ++area) BENTO_TRY(areas_[area].expose(used_[area]));
  std::memcpy(log_window_.data() + head_.bytes, fresh.data(), fresh.size());
  head_.bytes += fresh.size();
  log_.clear();
  mine_->log.store(head_.word(), std::memory_order_release);
  if (word_ != nullptr) {
    word_->store(head_.word(), std::memory_order_release);
    unshown_ = true;
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (node_->seen.load(std::memory_order_relaxed) >= node_->counter.load(std::memory_order_relaxed))
    node_->counter.fetch_add(1, std::memory_order_seq_cst);
  return {};
}

void Board::next_epoch() {
  log_.begin();
  head_ = {LogHead::after(head_.epoch), 0};
  next_ = 0;
  mine_->log.store(head_.word(), std::memory_order_seq_cst);
  if (word_ != nullptr) word_->store(head_.word(), std::memory_order_seq_cst);
  all_known_ = false;
  log_window_.give_back(kKeptBytes);
}

}  // namespace bento
