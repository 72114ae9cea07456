// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Growing buffer for encoded structures, the counterpart of ByteReader. Little-endian unless told
/// otherwise.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bento {

/// Appends `value` as unsigned LEB128.
inline void put_varint(std::vector<std::byte>& out, std::uint64_t value) {
  if (value < 0x80u) {
    out.push_back(static_cast<std::byte>(value));
    return;
  }
  std::array<std::byte, 10> bytes;  // NOLINT(cppcoreguidelines-pro-type-member-init): as used
  std::size_t count = 0;
  for (; value >= 0x80u; value >>= 7) bytes[count++] = static_cast<std::byte>(value | 0x80u);
  bytes[count++] = static_cast<std::byte>(value);
  out.insert(out.end(), bytes.data(), bytes.data() + count);
}

class ByteWriter {
 public:
  explicit ByteWriter(std::endian order = std::endian::little) : order_(order) {}

  void u8(std::uint8_t v) { put(v); }
  void u16(std::uint16_t v) { put(v); }
  void u32(std::uint32_t v) { put(v); }
  void u64(std::uint64_t v) { put(v); }
  void i32(std::int32_t v) { put(static_cast<std::uint32_t>(v)); }
  void i64(std::int64_t v) { put(static_cast<std::uint64_t>(v)); }

  /// Unsigned LEB128.
  void varint(std::uint64_t v) { put_varint(buffer_, v); }

  void bytes(std::span<const std::byte> view) {
    buffer_.insert(buffer_.end(), view.begin(), view.end());
  }
  void zeros(std::size_t count) { buffer_.resize(buffer_.size() + count); }
  void array_u64(std::span<const std::uint64_t> values) {
    for (const auto value : values) u64(value);
  }

  [[nodiscard]] std::size_t size() const { return buffer_.size(); }
  [[nodiscard]] std::span<const std::byte> view() const { return buffer_; }
  [[nodiscard]] std::vector<std::byte>& buffer() { return buffer_; }
  std::vector<std::byte> take() && { return std::move(buffer_); }

 private:
  template <class T>
  void put(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      const std::size_t shift = order_ == std::endian::little ? i : sizeof(T) - 1 - i;
      buffer_.push_back(
          static_cast<std::byte>((static_cast<std::uint64_t>(value) >> (8 * shift)) & 0xFFu));
    }
  }

  std::endian order_;
  std::vector<std::byte> buffer_;
};

}  // namespace bento
