// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Both hashes in one register of 128 bits, of which they use the half: with AVX-512's rotations and
// logic of three operands a step takes no longer than with ordinary instructions for one hash.
#include <utility>

#include "core/fti/md5_steps.hpp"

#ifdef __x86_64__
#include <immintrin.h>
// From here on for AVX-512: no header with inline functions of external linkage may follow.
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512vl"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512vl")
#endif

namespace bento::fti::md5_steps {
namespace {

struct Pair {
  __m128i a, b, c, d;
};

/// Words 0 to 15 of two blocks, word i of both in vector i.
inline void load(const std::byte* from_a, const std::byte* from_b, __m128i (&words)[16]) {
  for (std::size_t group = 0; group < 4; ++group) {
    const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from_a) + group);
    const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from_b) + group);
    const __m128i low = _mm_unpacklo_epi32(a, b);
    const __m128i high = _mm_unpackhi_epi32(a, b);
    words[4 * group] = low;
    words[4 * group + 1] = _mm_unpackhi_epi64(low, low);
    words[4 * group + 2] = high;
    words[4 * group + 3] = _mm_unpackhi_epi64(high, high);
  }
}

template <std::size_t kStep>
inline void step(Pair& s, const __m128i (&words)[16]) {
  // Truth tables of the four functions of RFC 1321, F to I.
  constexpr int kTables[4] = {0xCA, 0xE4, 0x96, 0x39};
  // The instructions hold these numbers, so they must be constants without optimisation, too.
  constexpr int kTable = kTables[kStep / 16];
  constexpr int kTurn = kTurns[kStep / 16][kStep % 4];
  const __m128i mixed = _mm_ternarylogic_epi32(s.b, s.c, s.d, kTable);
  __m128i early = _mm_add_epi32(
      s.a, _mm_add_epi32(words[word_of(kStep)], _mm_set1_epi32(static_cast<int>(kSines[kStep]))));
  // Compilers would add in another order, in which more waits for the step before: a quarter
  // slower.
  __asm__("" : "+v"(early));
  const __m128i turned = _mm_rol_epi32(_mm_add_epi32(early, mixed), kTurn);
  s = {s.d, _mm_add_epi32(s.b, turned), s.b, s.c};
}

template <std::size_t... kStep>
inline void all_steps(Pair& s, const __m128i (&words)[16], std::index_sequence<kStep...>) {
  (step<kStep>(s, words), ...);
}

inline __m128i both(std::uint32_t a, std::uint32_t b) {
  return _mm_set_epi32(0, 0, static_cast<int>(b), static_cast<int>(a));
}
inline void apart(__m128i both, std::uint32_t& a, std::uint32_t& b) {
  a = static_cast<std::uint32_t>(_mm_extract_epi32(both, 0));
  b = static_cast<std::uint32_t>(_mm_extract_epi32(both, 1));
}

void pair_of_blocks(Words& a, const std::byte* from_a, Words& b, const std::byte* from_b,
                    std::size_t blocks) {
  Pair state{both(a[0], b[0]), both(a[1], b[1]), both(a[2], b[2]), both(a[3], b[3])};
  for (; blocks > 0; --blocks, from_a += kBlockBytes, from_b += kBlockBytes) {
    __m128i words[16];
    load(from_a, from_b, words);
    Pair s = state;
    all_steps(s, words, std::make_index_sequence<64>());
    state = {_mm_add_epi32(state.a, s.a), _mm_add_epi32(state.b, s.b), _mm_add_epi32(state.c, s.c),
             _mm_add_epi32(state.d, s.d)};
  }
  apart(state.a, a[0], b[0]);
  apart(state.b, a[1], b[1]);
  apart(state.c, a[2], b[2]);
  apart(state.d, a[3], b[3]);
}

}  // namespace
}  // namespace bento::fti::md5_steps

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

namespace bento::fti::md5_steps {

PairKernel avx512_pair() {
#ifdef __x86_64__
  static const bool usable =
      __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  return usable ? &pair_of_blocks : nullptr;
#else
  return nullptr;
#endif
}

}  // namespace bento::fti::md5_steps
