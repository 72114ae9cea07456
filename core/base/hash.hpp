// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// XXH3-128, the checksum of everything that is ours: records, pages, segments, roots. The
/// long-input kernel is chosen at run time by the processor's vector units.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace bento {

/// Canonical (big-endian) form of an XXH3-128 value, as stored on disk.
using Hash128 = std::array<std::byte, 16>;

/// By words. The comparison that std::array has goes byte by byte, and an index that is read
/// compares at every page.
constexpr bool operator==(const Hash128& a, const Hash128& b) {
  using Words = std::array<std::uint64_t, 2>;
  const auto left = std::bit_cast<Words>(a);
  const auto right = std::bit_cast<Words>(b);
  return ((left[0] ^ right[0]) | (left[1] ^ right[1])) == 0;
}

/// Hash of one buffer. Thread-safe.
Hash128 hash128(std::span<const std::byte> bytes);

/// Hash of a buffer that arrives in pieces, so that hashing can be interleaved with writing.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  void reset();
  void update(std::span<const std::byte> bytes);
  [[nodiscard]] Hash128 digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bento
