// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/fti/checksum.hpp"

#include <string_view>

namespace bento::fti {

Digest chunk_hash(HashKind kind, std::span<const std::byte> chunk) {
  switch (kind) {
    case HashKind::kMd5:
      return md5(chunk);
    case HashKind::kXxh3:
      return hash_in_granules(chunk);
    case HashKind::kNone:
      break;
  }
  return Digest{};
}

Digest empty_chunk_hash(HashKind kind) {
  return chunk_hash(kind, {});
}

ChecksumText to_text(const Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  ChecksumText text{};
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const auto value = std::to_integer<unsigned>(digest[i]);
    text[2 * i] = static_cast<std::byte>(kDigits[value >> 4]);
    text[2 * i + 1] = static_cast<std::byte>(kDigits[value & 0xFu]);
  }
  return text;
}

namespace {
// FTI compares the texts as strings, so upper-case digits are not equal to what it writes.
std::optional<unsigned> digit_value(std::byte digit) {
  const auto c = std::to_integer<unsigned>(digit);
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return std::nullopt;
}
}  // namespace

std::optional<Digest> from_text(const ChecksumText& text) {
  if (text.back() != std::byte{0}) return std::nullopt;
  Digest digest;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const auto high = digit_value(text[2 * i]);
    const auto low = digit_value(text[2 * i + 1]);
    if (!high || !low) return std::nullopt;
    digest[i] = static_cast<std::byte>(*high << 4 | *low);
  }
  return digest;
}

ChunkHasher::ChunkHasher(HashKind kind) {
  if (kind == HashKind::kMd5) md5_.emplace();
  if (kind == HashKind::kXxh3) xxh3_.emplace();
}

void ChunkHasher::update(std::span<const std::byte> bytes) {
  if (md5_) md5_->update(bytes);
  if (xxh3_) xxh3_->update(bytes);
}

Digest ChunkHasher::digest() const {
  if (md5_) return md5_->digest();
  if (xxh3_) return xxh3_->digest();
  return Digest{};
}

}  // namespace bento::fti
