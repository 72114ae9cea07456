// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/base/key_table.hpp"

#include <random>
#include <unordered_map>

#include <catch2/catch_test_macros.hpp>

namespace bento {
namespace {

TEST_CASE("A table of keys gives the last value of each", "[core][base]") {
  std::mt19937_64 random(11);
  KeyTable<std::size_t> table;
  CHECK(!table.find(0));
  for (const std::size_t count : {3u, 70u, 5000u, 1u}) {
    std::unordered_map<std::uint64_t, std::size_t> wanted;
    for (std::size_t i = 0; i < count; ++i) {
      // Many that belong to the same place: they differ in their upper bits only.
      const std::uint64_t key = random() % 3 == 0 ? random() : (random() % 50) << 40;
      table.put(key, i);
      wanted[key] = i;
    }
    for (const auto& [key, entry] : wanted) {
      REQUIRE(table.find(key) != nullptr);
      CHECK(*table.find(key) == entry);
    }
    CHECK(table.size() == wanted.size());
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t key = random();
      CHECK((table.find(key) != nullptr) == wanted.contains(key));
    }
    table.clear();
    CHECK(!table.find(wanted.begin()->first));
    CHECK(table.size() == 0);
  }
}

}  // namespace
}  // namespace bento
