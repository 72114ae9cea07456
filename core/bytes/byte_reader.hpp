// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Bounded decoding of file bytes: every read says how much it needs and fails instead of passing
/// the end. The byte order is a run-time argument, since a SION container may be of either order;
/// our own structures are always little-endian. Counts must be checked with `fits` before anything
/// is allocated.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/base/error.hpp"

namespace bento {

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes, std::endian order = std::endian::little,
                      std::string_view what = "structure")
      : bytes_(bytes), order_(order), what_(what) {}

  [[nodiscard]] std::size_t offset() const { return offset_; }
  [[nodiscard]] std::size_t remaining() const { return bytes_.size() - offset_; }

  Result<std::uint8_t> u8() { return read<std::uint8_t>(); }
  Result<std::uint16_t> u16() { return read<std::uint16_t>(); }
  Result<std::uint32_t> u32() { return read<std::uint32_t>(); }
  Result<std::uint64_t> u64() { return read<std::uint64_t>(); }
  Result<std::int32_t> i32() {
    return read<std::uint32_t>().map([](std::uint32_t v) { return static_cast<std::int32_t>(v); });
  }
  Result<std::int64_t> i64() {
    return read<std::uint64_t>().map([](std::uint64_t v) { return static_cast<std::int64_t>(v); });
  }

  /// Unsigned LEB128, at most 10 bytes. Most of what an index is read for are these, and most of
  /// them have one byte.
  Result<std::uint64_t> varint() {
    if (offset_ < bytes_.size()) {
      const auto byte = std::to_integer<std::uint64_t>(bytes_[offset_]);
      if (byte < 0x80u) {
        ++offset_;
        return byte;
      }
    }
    return long_varint();
  }

  /// For structures of many fields, of which it takes longer to look at each result than to read
  /// it. What cannot be read is 0, and so is all behind it; settled() says what was missing.
  /// Believe none of it, and take no memory for it, before that was asked.
  std::uint64_t next_varint() {
    std::uint64_t value = 0;
    std::size_t at = offset_;
    for (unsigned shift = 0; shift < 63 && at < bytes_.size(); shift += 7) {
      const auto byte = std::to_integer<std::uint64_t>(bytes_[at++]);
      value |= (byte & 0x7Fu) << shift;
      if (byte >= 0x80u) continue;
      offset_ = at;
      return value;
    }
    return next_long_varint();
  }
  std::uint8_t next_u8() {
    if (offset_ < bytes_.size()) return std::to_integer<std::uint8_t>(bytes_[offset_++]);
    lack(1);
    return 0;
  }
  void next_bytes(std::span<std::byte> to) {
    if (to.size() <= remaining()) {
      std::memcpy(to.data(), bytes_.data() + offset_, to.size());
      offset_ += to.size();
      return;
    }
    std::memset(to.data(), 0, to.size());
    lack(to.size());
  }
  /// Has everything been there that was asked for so far?
  [[nodiscard]] bool is_settled() const { return !lacking_; }
  /// Errors: kCorrupt (the first of them that could not be read).
  [[nodiscard]] Status settled() const {
    if (!lacking_) return {};
    ByteReader again(bytes_, order_, what_);
    again.offset_ = lacking_at_;
    if (lacking_bytes_ != 0) return again.missing(lacking_bytes_);
    BENTO_TRY(again.long_varint());
    return {};
  }

  /// A view of the next `count` bytes; it lives as long as the buffer under this reader.
  Result<std::span<const std::byte>> bytes(std::uint64_t count) {
    if (count > remaining()) return missing(count);
    auto view = bytes_.subspan(offset_, static_cast<std::size_t>(count));
    offset_ += static_cast<std::size_t>(count);
    return view;
  }

  Status skip(std::uint64_t count) {
    if (count > remaining()) return missing(count);
    offset_ += static_cast<std::size_t>(count);
    return {};
  }

  /// Are there at least `count` elements of `element_bytes` each left? Ask before resizing
  /// anything.
  Status fits(std::uint64_t count, std::size_t element_bytes) const {
    if (element_bytes != 0 && count > remaining() / element_bytes)
      return fail(Code::kCorrupt,
                  fmt::format("{}: {} elements of {} bytes wanted at byte {}, {} bytes left", what_,
                              count, element_bytes, offset_, remaining()));
    return {};
  }

  Result<std::vector<std::uint64_t>> array_u64(std::uint64_t count) {
    BENTO_TRY(fits(count, 8));
    std::vector<std::uint64_t> values(static_cast<std::size_t>(count));
    for (auto& value : values) {
      BENTO_ASSIGN(value, u64());
    }
    return values;
  }

 private:
  static constexpr std::size_t kMostVarintBytes = 10;

  [[nodiscard]] tl::unexpected<Error> too_long(std::size_t at) const {
    return fail(Code::kCorrupt,
                fmt::format("{}: varint longer than 64 bits before byte {}", what_, at));
  }

  [[nodiscard]] tl::unexpected<Error> missing(std::uint64_t count) const {
    return fail(Code::kCorrupt, fmt::format("{}: {} bytes wanted at byte {}, {} left", what_, count,
                                            offset_, remaining()));
  }

  Result<std::uint64_t> long_varint() {
    std::uint64_t value = 0;
    std::size_t at = offset_;
    for (unsigned shift = 0; shift < 64 && at < bytes_.size(); shift += 7) {
      const auto byte = std::to_integer<std::uint64_t>(bytes_[at++]);
      const std::uint64_t part = byte & 0x7Fu;
      if (shift == 63 && part > 1) return too_long(at);
      value |= part << shift;
      if ((byte & 0x80u) != 0) continue;
      offset_ = at;
      return value;
    }
    if (at - offset_ == kMostVarintBytes) return too_long(at);
    offset_ = at;
    return missing(1);  // the bytes end in the middle of it
  }

  std::uint64_t next_long_varint() {
    const std::size_t begin = offset_;
    const auto value = long_varint();
    if (value) return *value;
    offset_ = begin;
    lack(0);
    return 0;
  }

  /// `bytes`: as many as were wanted, 0 if that was a varint.
  void lack(std::size_t bytes) {
    if (!lacking_) {
      lacking_ = true;
      lacking_at_ = offset_;
      lacking_bytes_ = bytes;
    }
    offset_ = bytes_.size();
  }

  template <class T>
  Result<T> read() {
    if (sizeof(T) > remaining()) return missing(sizeof(T));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      const std::size_t shift = order_ == std::endian::little ? i : sizeof(T) - 1 - i;
      value |= std::to_integer<std::uint64_t>(bytes_[offset_ + i]) << (8 * shift);
    }
    offset_ += sizeof(T);
    return static_cast<T>(value);
  }

  std::span<const std::byte> bytes_;
  std::endian order_;
  std::string_view what_;
  std::size_t offset_ = 0;
  bool lacking_ = false;  ///< something could not be read that was not looked at
  std::size_t lacking_at_ = 0;
  std::size_t lacking_bytes_ = 0;
};

}  // namespace bento
