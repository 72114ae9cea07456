// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/data/byte_shuffle.hpp"

#include <random>
#include <vector>

#include <catch2/catch_test_macros.hpp>

namespace bento::vol {
namespace {

// direct_filters_test.cpp holds it against HDF5's filter; a chunk has no bytes behind its elements.
TEST_CASE("byte shuffle: every number of elements, and bytes behind the last one",
          "[vol][filters]") {
  std::mt19937 random(1);  // NOLINT: the same every time
  for (std::size_t size = 1; size <= 33; ++size)
    for (std::size_t bytes = 0; bytes < 40 * size; bytes += 1 + random() % 3) {
      std::vector<std::byte> plain(bytes);
      for (auto& byte : plain) byte = static_cast<std::byte>(random() & 0xFF);
      const std::size_t elements = bytes / size;
      std::vector<std::byte> wanted = plain;
      for (std::size_t byte = 0; byte < size; ++byte)
        for (std::size_t i = 0; i < elements; ++i)
          wanted[byte * elements + i] = plain[i * size + byte];
      std::vector<std::byte> made(bytes);
      shuffle_bytes(size, plain, made.data());
      INFO(bytes << " bytes, elements of " << size);
      REQUIRE((made == wanted));
      std::vector<std::byte> back(bytes);
      unshuffle_bytes(size, made, back.data());
      REQUIRE((back == plain));
    }
}

TEST_CASE("byte shuffle: elements larger than what is done at a time", "[vol][filters]") {
  const std::size_t size = 30000;
  std::vector<std::byte> plain(35 * size + 7);
  std::mt19937 random(1);  // NOLINT: the same every time
  for (auto& byte : plain) byte = static_cast<std::byte>(random() & 0xFF);
  std::vector<std::byte> made(plain.size());
  shuffle_bytes(size, plain, made.data());
  CHECK(made[35 * 29999 + 34] == plain[35 * size - 1]);
  CHECK(made[17] == plain[17 * size]);
  std::vector<std::byte> back(plain.size());
  unshuffle_bytes(size, made, back.data());
  CHECK((back == plain));
}

}  // namespace
}  // namespace bento::vol
