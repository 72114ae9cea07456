// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Growing buffer for encoded structures, the counterpart of ByteReader. Little-endian unless told
/// otherwise.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace bento {

inline constexpr std::size_t kMostVarintBytes = 10;

/// Puts `value` at `to` as unsigned LEB128, which takes up to kMostVarintBytes. Gives its end.
inline std::byte* encode_varint(std::byte* to, std::uint64_t value) {
  for (; value >= 0x80u; value >>= 7) *to++ = static_cast<std::byte>(value | 0x80u);
  *to++ = static_cast<std::byte>(value);
  return to;
}

/// Appends `value` so.
inline void put_varint(std::vector<std::byte>& out, std::uint64_t value) {
  if (value < 0x80u) {
    out.push_back(static_cast<std::byte>(value));
    return;
  }
  std::array<std::byte, kMostVarintBytes>
      bytes;  // NOLINT(cppcoreguidelines-pro-type-member-init): as used
  out.insert(out.end(), bytes.data(), encode_varint(bytes.data(), value));
}

class ByteWriter {
 public:
  explicit ByteWriter(std::endian order = std::endian::little) : order_(order) {}

  void u8(std::uint8_t v) { *more(1) = static_cast<std::byte>(v); }
  void u16(std::uint16_t v) { put(v); }
  void u32(std::uint32_t v) { put(v); }
  void u64(std::uint64_t v) { put(v); }
  void i32(std::int32_t v) { put(static_cast<std::uint32_t>(v)); }
  void i64(std::int64_t v) { put(static_cast<std::uint64_t>(v)); }

  /// Unsigned LEB128.
  void varint(std::uint64_t v) {
    if (v < 0x80u) {
      u8(static_cast<std::uint8_t>(v));
      return;
    }
    const std::byte* const end = encode_varint(more(kMostVarintBytes), v);
    size_ = static_cast<std::size_t>(end - buffer_.data());
  }

  void bytes(std::span<const std::byte> view) {
    if (!view.empty()) std::memcpy(more(view.size()), view.data(), view.size());
  }
  /// Where they are, until more is written.
  std::span<std::byte> zeros(std::size_t count) {
    std::byte* const at = more(count);
    std::fill_n(at, count, std::byte{0});
    return {at, count};
  }
  void array_u64(std::span<const std::uint64_t> values) {
    for (const auto value : values) u64(value);
  }

  /// So many bytes will be written in all: takes the memory at once.
  void reserve(std::size_t count) {
    if (count > buffer_.size()) buffer_.resize(count);
  }
  void clear() { size_ = 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::span<const std::byte> view() const { return std::span(buffer_).first(size_); }
  std::vector<std::byte> take() && {
    buffer_.resize(size_);
    size_ = 0;
    return std::move(buffer_);
  }

 private:
  static constexpr std::size_t kLeastBytes = 64;

  /// Room for `count` bytes, which are written now.
  std::byte* more(std::size_t count) {
    if (count > buffer_.size() - size_) grow(count);
    std::byte* const at = buffer_.data() + size_;
    size_ += count;
    return at;
  }
  [[gnu::noinline]] void grow(std::size_t count) {
    buffer_.resize(std::max({kLeastBytes, 2 * buffer_.size(), size_ + count}));
  }

  template <class T>
  void put(T value) {
    std::byte* const at = more(sizeof value);
    if (order_ == std::endian::native) {
      std::memcpy(at, &value, sizeof value);
      return;
    }
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      const std::size_t shift = order_ == std::endian::little ? i : sizeof(T) - 1 - i;
      at[i] = static_cast<std::byte>((static_cast<std::uint64_t>(value) >> (8 * shift)) & 0xFFu);
    }
  }

  std::endian order_;
  std::size_t size_ = 0;           ///< of what was written
  std::vector<std::byte> buffer_;  ///< and room for more
};

}  // namespace bento
