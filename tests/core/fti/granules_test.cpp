// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/fti/granules.hpp"

#include <catch2/catch_test_macros.hpp>

#include "core/fti/checksum.hpp"

namespace bento {
namespace {

std::vector<std::byte> numbers(std::size_t count) {
  std::vector<std::byte> bytes(count);
  std::uint32_t state = 7;
  for (auto& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

TEST_CASE("granules: the same hash whatever the pieces", "[core][fti]") {
  const std::size_t granule = fti::kGranuleBytes;
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, granule - 1, granule, granule + 1,
                                  2 * granule, 3 * granule + 5}) {
    const auto data = numbers(count);
    const Hash128 whole = fti::chunk_hash(fti::HashKind::kXxh3, data);
    if (count <= granule) CHECK(whole == hash128(data));
    for (const std::size_t piece : {std::size_t{1000}, granule / 4, granule + 3, 4 * granule}) {
      fti::GranuleHasher hasher;
      fti::ChunkHasher chunk(fti::HashKind::kXxh3);
      for (std::size_t at = 0; at < count; at += piece) {
        const auto part = std::span(data).subspan(at, std::min(piece, count - at));
        hasher.update(part);
        chunk.update(part);
      }
      CHECK(hasher.digest() == whole);
      CHECK(chunk.digest() == whole);
      const auto hashes = hasher.hashes();
      REQUIRE(hashes.size() == fti::granules_in(count));
      for (std::size_t i = 0; i < hashes.size(); ++i)
        CHECK(hashes[i] == hash128(std::span(data).subspan(
                               i * granule, std::min(granule, count - i * granule))));
    }
  }
}

}  // namespace
}  // namespace bento
