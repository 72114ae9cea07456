// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <cstring>
#include <random>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "core/geometry/runs.hpp"

namespace bento {
namespace {

RegularSelection random_selection(std::mt19937_64& random) {
  const auto rank = static_cast<unsigned>(1 + random() % 4);
  RegularSelection regular{Dims(rank), Dims(rank), Dims(rank), Dims(rank)};
  for (unsigned d = 0; d < rank; ++d) {
    regular.start[d] = random() % 5;
    regular.block[d] = 1 + random() % 3;
    regular.stride[d] = regular.block[d] + random() % 3;
    regular.count[d] = 1 + random() % 4;
  }
  regular.normalise();
  return regular;
}

/// All of it, and something around it.
Box around(const RegularSelection& regular, std::mt19937_64& random) {
  Box box{regular.start, Dims(regular.start.rank())};
  for (unsigned d = 0; d < box.rank(); ++d) {
    box.count[d] = (regular.count[d] - 1) * regular.stride[d] + regular.block[d];
    const std::uint64_t before = random() % (box.start[d] + 1);
    box.start[d] -= before;
    box.count[d] += before + random() % 3;
  }
  return box;
}

}  // namespace

TEST_CASE("regular selection: gathers and scatters what its boxes say", "[core][geometry]") {
  for (const std::size_t element_bytes : {1u, 2u, 4u, 8u, 12u}) {
    std::mt19937_64 random(element_bytes);
    for (int i = 0; i < 200; ++i) {
      const RegularSelection regular = random_selection(random);
      const Box box = around(regular, random);
      std::vector<std::byte> whole(box.elements() * element_bytes);
      for (auto& byte : whole) byte = static_cast<std::byte>(random());
      const Box grid = regular.packed_grid();
      std::vector<std::byte> wanted(grid.elements() * element_bytes);
      std::vector<std::byte> part;
      for (std::uint64_t n = 0; n < regular.boxes(); ++n) {
        const Box one = regular.box(n);
        part.resize(one.elements() * element_bytes);
        copy_box(one, box, whole.data(), one, part.data(), element_bytes);
        const Box place = regular.packed_box(n);
        copy_box(place, place, part.data(), grid, wanted.data(), element_bytes);
      }
      std::vector<std::byte> packed(wanted.size());
      regular.gather(box, whole.data(), packed.data(), element_bytes);
      REQUIRE(packed == wanted);

      // Back: what was not selected stays.
      std::vector<std::byte> other(whole.size());
      for (auto& byte : other) byte = static_cast<std::byte>(random());
      std::vector<std::byte> mixed = other;
      for (std::uint64_t n = 0; n < regular.boxes(); ++n) {
        const Box one = regular.box(n);
        copy_box(one, box, whole.data(), box, mixed.data(), element_bytes);
      }
      regular.scatter(packed.data(), box, other.data(), element_bytes);
      REQUIRE(other == mixed);
    }
  }
}

}  // namespace bento
