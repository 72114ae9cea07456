// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Why code of our own: nettle and libcrypto hash one sequence at a time.
#include "core/fti/md5_pair.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace bento::fti {

using namespace md5_steps;

namespace {

inline std::uint32_t word_at(const std::byte* block, std::size_t i) {
  std::uint32_t word = 0;
  std::memcpy(&word, block + 4 * i, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap32(word);
  return word;
}

template <std::size_t kStep>
inline void step(Words& s, const std::byte* block) {
  constexpr std::size_t kRound = kStep / 16;
  std::uint32_t& a = s[(64 - kStep) % 4];
  const std::uint32_t b = s[(65 - kStep) % 4];
  const std::uint32_t c = s[(66 - kStep) % 4];
  const std::uint32_t d = s[(67 - kStep) % 4];
  // What does not wait for b, the newest of the four, stands first.
  std::uint32_t sum = a + kSines[kStep] + word_at(block, word_of(kStep));
  if constexpr (kRound == 0) sum += d ^ (b & (c ^ d));
  if constexpr (kRound == 1) sum = (sum + (~d & c)) + (d & b);
  if constexpr (kRound == 2) sum += b ^ (c ^ d);
  if constexpr (kRound == 3) sum += c ^ (b | ~d);
  a = b + std::rotl(sum, kTurns[kRound][kStep % 4]);
}

void compress(Words& state, const std::byte* block) {
  Words s = state;
  [&]<std::size_t... kStep>(std::index_sequence<kStep...>) {
    (step<kStep>(s, block), ...);
  }(std::make_index_sequence<64>());
  for (std::size_t i = 0; i < s.size(); ++i) state[i] += s[i];
}

}  // namespace

void md5_steps::portable_pair(Words& a, const std::byte* from_a, Words& b, const std::byte* from_b,
                              std::size_t blocks) {
  for (; blocks > 0; --blocks, from_a += kBlockBytes, from_b += kBlockBytes) {
    Words s = a;
    Words t = b;
    [&]<std::size_t... kStep>(std::index_sequence<kStep...>) {
      ((step<kStep>(s, from_a), step<kStep>(t, from_b)), ...);
    }(std::make_index_sequence<64>());
    for (std::size_t i = 0; i < s.size(); ++i) {
      a[i] += s[i];
      b[i] += t[i];
    }
  }
}

Md5Pair::Md5Pair() : Md5Pair(avx512_pair() != nullptr ? avx512_pair() : &portable_pair) {}

/// Fills the block that waits, if one does. What is left of `bytes`: nothing, or whole blocks come
/// first in it.
std::span<const std::byte> Md5Pair::fill_block(Lane& lane, std::span<const std::byte> bytes) {
  const std::size_t used = lane.bytes % kBlockBytes;
  if (used == 0) return bytes;
  const std::size_t more = std::min(kBlockBytes - used, bytes.size());
  std::copy_n(bytes.begin(), more, lane.waiting.begin() + static_cast<std::ptrdiff_t>(used));
  lane.bytes += more;
  if (used + more == kBlockBytes) compress(lane.state, lane.waiting.data());
  return bytes.subspan(more);
}

void Md5Pair::blocks_and_rest(Lane& lane, std::span<const std::byte> bytes) {
  lane.bytes += bytes.size();
  for (; bytes.size() >= kBlockBytes; bytes = bytes.subspan(kBlockBytes))
    compress(lane.state, bytes.data());
  std::copy(bytes.begin(), bytes.end(), lane.waiting.begin());
}

void Md5Pair::update(Lane& lane, std::span<const std::byte> bytes) {
  bytes = fill_block(lane, bytes);
  if (!bytes.empty()) blocks_and_rest(lane, bytes);
}

void Md5Pair::update_first(std::span<const std::byte> bytes) {
  update(first_, bytes);
}

void Md5Pair::update_both(std::span<const std::byte> bytes) {
  auto first = fill_block(first_, bytes);
  auto second = fill_block(second_, bytes);
  const std::size_t together = std::min(first.size(), second.size()) / kBlockBytes * kBlockBytes;
  kernel_(first_.state, first.data(), second_.state, second.data(), together / kBlockBytes);
  first_.bytes += together;
  second_.bytes += together;
  first = first.subspan(together);
  second = second.subspan(together);
  if (!first.empty()) blocks_and_rest(first_, first);
  if (!second.empty()) blocks_and_rest(second_, second);
}

Digest Md5Pair::finish(Lane lane) {
  const std::uint64_t bits = lane.bytes * 8;
  std::array<std::byte, kBlockBytes> padding{std::byte{0x80}};
  const std::size_t used = lane.bytes % kBlockBytes;
  update(lane, std::span(padding).first(used < 56 ? 56 - used : 120 - used));
  std::array<std::byte, 8> length{};
  for (std::size_t i = 0; i < length.size(); ++i)
    length[i] = static_cast<std::byte>(bits >> (8 * i) & 0xFFu);
  update(lane, length);
  Digest digest{};
  for (std::size_t i = 0; i < digest.size(); ++i)
    digest[i] = static_cast<std::byte>(lane.state[i / 4] >> (8 * (i % 4)) & 0xFFu);
  return digest;
}

}  // namespace bento::fti
