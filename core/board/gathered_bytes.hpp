// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Where the bytes of small records gather: in memory of this process, or, where other ranks may
/// read them, on the rank's board.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/board/board.hpp"

namespace bento {

class GatheredBytes {
 public:
  /// Before anything gathers.
  void share(Board* board) { board_ = board; }

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::span<const std::byte> view() const {
    return {board_ != nullptr ? board_->data() : own_.data(), static_cast<std::size_t>(size_)};
  }
  void append(std::span<const std::byte> data) {
    if (board_ == nullptr) {
      own_.insert(own_.end(), data.begin(), data.end());
    } else if (!data.empty()) {
      std::memcpy(board_->reach(size_ + data.size()) + size_, data.data(), data.size());
    }
    size_ += data.size();
  }
  void overwrite(std::uint64_t offset, std::span<const std::byte> data) {
    if (data.empty()) return;
    std::byte* const at = board_ != nullptr ? board_->reach(size_) : own_.data();
    std::memcpy(at + offset, data.data(), data.size());
  }
  /// Not on a board: room for `bytes` at the end, which begins with a copy of what lies at
  /// `offset`. Gives its place.
  std::uint64_t move_to_end(std::uint64_t offset, std::uint64_t length, std::uint64_t bytes) {
    const std::uint64_t place = size_;
    own_.resize(static_cast<std::size_t>(place + bytes));
    std::memcpy(own_.data() + place, own_.data() + offset, static_cast<std::size_t>(length));
    size_ += bytes;
    return place;
  }
  /// All of it is in the stream. Errors: as Board::publish().
  Status clear() {
    own_.clear();
    size_ = 0;
    return board_ != nullptr ? board_->empty_area() : Status{};
  }
  /// Other bytes, elsewhere: what others were told of places before is void. Errors: as
  /// Board::publish().
  Status become(std::vector<std::byte> bytes) {
    if (board_ == nullptr) {
      own_ = std::move(bytes);
      size_ = own_.size();
      return {};
    }
    BENTO_TRY(board_->switch_area());
    size_ = bytes.size();
    if (!bytes.empty()) std::memcpy(board_->reach(size_), bytes.data(), bytes.size());
    return {};
  }

 private:
  Board* board_ = nullptr;
  std::vector<std::byte> own_;
  std::uint64_t size_ = 0;
};

}  // namespace bento
