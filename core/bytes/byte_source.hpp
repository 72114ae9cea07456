// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The bytes of a record that is being written. They may be made while they are written, so that a
/// record that is larger than the caches, or than memory, is never there as a whole.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/error.hpp"

namespace bento {

/// Whoever takes from it knows how many bytes there are.
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  /// The next bytes: at most `most`, at least one. They hold until the next call. `most` is not 0,
  /// and no larger than what is left.
  Result<std::span<const std::byte>> take(std::uint64_t most) {
    auto taken = next(most);
    failed_ = failed_ || !taken;
    return taken;
  }
  /// Where the next bytes lie in memory; null if they are not made yet.
  [[nodiscard]] virtual const std::byte* place() const { return nullptr; }
  /// Did it fail to make some?
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  virtual Result<std::span<const std::byte>> next(std::uint64_t most) = 0;

  bool failed_ = false;
};

/// Bytes that are in memory.
class SpanSource final : public ByteSource {
 public:
  explicit SpanSource(std::span<const std::byte> bytes) : bytes_(bytes) {}
  [[nodiscard]] const std::byte* place() const override { return bytes_.data(); }

 private:
  Result<std::span<const std::byte>> next(std::uint64_t most) override {
    const auto taken =
        bytes_.first(static_cast<std::size_t>(std::min<std::uint64_t>(most, bytes_.size())));
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }

  std::span<const std::byte> bytes_;
};

/// The next `bytes` bytes in one piece: where the source has them, or in `room`.
inline Result<std::span<const std::byte>> take_whole(ByteSource& source, std::uint64_t bytes,
                                                     std::vector<std::byte>& room) {
  if (bytes == 0) return std::span<const std::byte>();
  BENTO_ASSIGN(const std::span<const std::byte> first, source.take(bytes));
  if (first.size() == bytes) return first;
  room.reserve(static_cast<std::size_t>(bytes));
  room.assign(first.begin(), first.end());
  while (room.size() < bytes) {
    BENTO_ASSIGN(const std::span<const std::byte> next, source.take(bytes - room.size()));
    room.insert(room.end(), next.begin(), next.end());
  }
  return std::span<const std::byte>(room);
}

}  // namespace bento
