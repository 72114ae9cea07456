// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/numbers_by_token.hpp"

#include <map>
#include <random>

#include <catch2/catch_test_macros.hpp>

namespace bento::vol {
namespace {

TokenBytes token_at(std::uint64_t address) {
  TokenBytes token{};
  std::memcpy(token.data(), &address, sizeof address);
  return token;
}

void check_same(const NumbersByToken& numbers, const std::map<TokenBytes, DatasetNumber>& wanted) {
  REQUIRE(numbers.size() == wanted.size());
  for (const auto& [token, number] : wanted) {
    const auto* const found = numbers.find(token);
    REQUIRE(found != nullptr);
    REQUIRE(*found == number);
  }
  std::map<TokenBytes, DatasetNumber> seen;
  numbers.for_each([&](const TokenBytes& token, DatasetNumber number) {
    REQUIRE(seen.emplace(token, number).second);
  });
  REQUIRE(seen == wanted);
}

}  // namespace

// Few addresses in a small table: many want the same place, also at its end, and are erased in
// between.
TEST_CASE("numbers by token: as a map has them, whatever is put and erased", "[vol]") {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);  // NOLINT: the same each time
    const std::uint64_t addresses = seed % 3 == 0 ? 2000 : 60;
    NumbersByToken numbers;
    std::map<TokenBytes, DatasetNumber> wanted;
    CHECK(numbers.find(token_at(0)) == nullptr);
    numbers.erase(token_at(0));
    for (DatasetNumber turn = 0; turn < 3000; ++turn) {
      const TokenBytes token = token_at(800 + 544 * (random() % addresses));
      if (random() % 5 < 3) {
        numbers.put(token, turn);
        wanted[token] = turn;
      } else {
        numbers.erase(token);
        wanted.erase(token);
      }
      const TokenBytes other = token_at(800 + 544 * (random() % addresses));
      REQUIRE((numbers.find(other) != nullptr) == wanted.contains(other));
      if (turn % 100 == 0) check_same(numbers, wanted);
    }
    check_same(numbers, wanted);
  }
}

}  // namespace bento::vol
