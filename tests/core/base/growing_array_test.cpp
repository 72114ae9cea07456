// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <catch2/catch_test_macros.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/growing_array.hpp"

namespace bento {

TEST_CASE("growing array: each element has its place, and those of a large one keep it", "[core]") {
  GrowingArray<std::uint64_t> array;
  CHECK(array.empty());
  constexpr std::size_t kMany = 5000;
  std::vector<const std::uint64_t*> places;
  for (std::size_t i = 0; i < kMany; ++i) {
    array.resize(i + 1);
    array[i] = 7 * i;
    if (i == 1023) {  // from here on nothing is moved
      for (std::size_t k = 0; k < i; ++k) places.push_back(&array[k]);
    }
    if (i >= 1023) places.push_back(&array[i]);
  }
  REQUIRE(array.size() == kMany);
  const auto& same = std::as_const(array);
  for (std::size_t i = 0; i < kMany; ++i) {
    CHECK(same[i] == 7 * i);
    CHECK(&same[i] == places[i]);
  }
}

TEST_CASE("growing array: smaller, empty, and larger again", "[core]") {
  GrowingArray<std::uint64_t> array;
  for (const std::size_t size : {3000u, 1024u, 1025u, 10u, 2049u}) {
    array.resize(size);
    REQUIRE(array.size() == size);
    for (std::size_t i = 0; i < size; ++i) array[i] = size + i;
    for (std::size_t i = 0; i < size; ++i) REQUIRE(array[i] == size + i);
  }
  array.clear();
  CHECK(array.empty());
  array.resize(1);
  array[0] = 5;
  CHECK(array[0] == 5);
  CHECK(array.size() == 1);
}

}  // namespace bento
