// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/data/byte_shuffle.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace bento::vol {

namespace {

// Sixteen elements of 2, 4, 8 or 16 bytes are that many vectors of sixteen bytes. Both directions
// rotate the bits of a byte's place among them: interleaving the first half of the bytes with the
// second moves the topmost bit of each place to the bottom. Every processor of 64 bits has an
// instruction for that.
constexpr std::size_t kVector = 16;
using Vector [[gnu::vector_size(kVector)]] = std::uint8_t;

Vector load(const std::byte* from) {
  Vector vector;
  std::memcpy(&vector, from, kVector);
  return vector;
}

void store(Vector vector, std::byte* to) {
  std::memcpy(to, &vector, kVector);
}

template <std::size_t Size>
std::array<Vector, Size> interleaved(const std::array<Vector, Size>& in) {
  std::array<Vector, Size> out;
#pragma GCC unroll 16
  for (std::size_t i = 0; i < Size / 2; ++i) {
    const Vector a = in[i];
    const Vector b = in[i + Size / 2];
    out[2 * i] = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22,  //
                                         7, 23);
    out[2 * i + 1] = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29,  //
                                             14, 30, 15, 31);
  }
  return out;
}

/// Returns how many of the elements are done: whole groups of sixteen.
template <std::size_t Size>
std::size_t shuffle_groups(const std::byte* from, std::size_t elements, std::byte* to) {
  std::size_t done = 0;
  for (; elements - done >= kVector; done += kVector) {
    std::array<Vector, Size> group;
#pragma GCC unroll 16
    for (std::size_t i = 0; i < Size; ++i) group[i] = load(from + done * Size + i * kVector);
    group = interleaved(interleaved(interleaved(interleaved(group))));
#pragma GCC unroll 16
    for (std::size_t i = 0; i < Size; ++i) store(group[i], to + i * elements + done);
  }
  return done;
}

template <std::size_t Size>
std::size_t unshuffle_groups(const std::byte* from, std::size_t elements, std::byte* to) {
  std::size_t done = 0;
  for (; elements - done >= kVector; done += kVector) {
    std::array<Vector, Size> group;
#pragma GCC unroll 16
    for (std::size_t i = 0; i < Size; ++i) group[i] = load(from + i * elements + done);
#pragma GCC unroll 4
    for (std::size_t bit = 1; bit < Size; bit *= 2) group = interleaved(group);
#pragma GCC unroll 16
    for (std::size_t i = 0; i < Size; ++i) store(group[i], to + done * Size + i * kVector);
  }
  return done;
}

// Of other sizes, as many elements at a time as stay in the processor's first cache.
constexpr std::size_t kNearBytes = 16u << 10;

std::size_t near_elements(std::size_t size) {
  return std::max<std::size_t>(kNearBytes / size, 16);
}

/// One way or `kBack`: first in groups of sixteen elements, where the size has them.
template <bool kBack>
void rearrange(std::size_t size, std::span<const std::byte> from, std::byte* to) {
  const std::size_t elements = from.size() / size;
  const std::byte* const in = from.data();
  const auto groups = [&]<std::size_t kSize>() {
    return kBack ? unshuffle_groups<kSize>(in, elements, to)
                 : shuffle_groups<kSize>(in, elements, to);
  };
  std::size_t done = 0;
  if (size == 2) done = groups.template operator()<2>();
  if (size == 4) done = groups.template operator()<4>();
  if (size == 8) done = groups.template operator()<8>();
  if (size == 16) done = groups.template operator()<16>();
  while (done < elements) {
    const std::size_t end = done + std::min(elements - done, near_elements(size));
    for (std::size_t byte = 0; byte < size; ++byte)
      for (std::size_t i = done; i < end; ++i) {
        const std::size_t apart = byte * elements + i;
        const std::size_t together = i * size + byte;
        if constexpr (kBack)
          to[together] = in[apart];
        else
          to[apart] = in[together];
      }
    done = end;
  }
  const std::size_t whole = elements * size;
  std::copy(from.begin() + static_cast<std::ptrdiff_t>(whole), from.end(), to + whole);
}

}  // namespace

void shuffle_bytes(std::size_t element_bytes, std::span<const std::byte> from, std::byte* to) {
  rearrange<false>(element_bytes, from, to);
}

void unshuffle_bytes(std::size_t element_bytes, std::span<const std::byte> from, std::byte* to) {
  rearrange<true>(element_bytes, from, to);
}

}  // namespace bento::vol
