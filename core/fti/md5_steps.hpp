// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The numbers of MD5 (source: RFC 1321), and the two ways in which Md5Pair computes it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace bento::fti::md5_steps {

/// The integer part of 2^32 |sin(i + 1)|, in radians.
inline constexpr std::array<std::uint32_t, 64> kSines{
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
inline constexpr std::array<std::array<int, 4>, 4> kTurns{
    {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}}};
/// Step i of a round takes word factor * i + first.
inline constexpr std::array<std::size_t, 4> kFirstWord{0, 1, 5, 0};
inline constexpr std::array<std::size_t, 4> kWordFactor{1, 5, 3, 7};

/// The state of a hash: A, B, C and D.
using Words = std::array<std::uint32_t, 4>;
inline constexpr std::size_t kBlockBytes = 64;

/// The word that a step takes of its block.
constexpr std::size_t word_of(std::size_t step) {
  return (kWordFactor[step / 16] * (step % 16) + kFirstWord[step / 16]) % 16;
}

/// Takes so many blocks of both into their states.
using PairKernel = void (*)(Words& a, const std::byte* from_a, Words& b, const std::byte* from_b,
                            std::size_t blocks);

void portable_pair(Words& a, const std::byte* from_a, Words& b, const std::byte* from_b,
                   std::size_t blocks);
/// Null where this build or this processor cannot run it.
PairKernel avx512_pair();

}  // namespace bento::fti::md5_steps
