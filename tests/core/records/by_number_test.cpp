// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/records/by_number.hpp"

#include <map>
#include <random>
#include <string>

#include <catch2/catch_test_macros.hpp>

namespace bento {
namespace {

TEST_CASE("A table by number holds what a map would", "[core][index]") {
  std::mt19937 random(7);
  // Neighbours, and numbers with gaps up to the largest there is.
  const auto number = [&]() -> DatasetNumber {
    return static_cast<DatasetNumber>(random() % 2 == 0 ? random() % 100 : random());
  };
  ByNumber<std::string> table;
  std::map<DatasetNumber, std::string> wanted;
  for (int i = 0; i < 20000; ++i) {
    DatasetNumber at = i % 50 == 0 ? ~DatasetNumber{0} : number();
    if (const auto known = wanted.lower_bound(at % 200); random() % 3 == 0 && known != wanted.end())
      at = known->first;
    if (random() % 3 == 0) {
      table.erase(at);
      wanted.erase(at);
    } else {
      table[at] += 'x';
      wanted[at] += 'x';
    }
    if (wanted.empty()) table[5] = wanted[5] = "";
    const auto found = wanted.find(at);
    REQUIRE(table.contains(at) == (found != wanted.end()));
    if (found != wanted.end()) REQUIRE(*table.find(at) == found->second);
  }
  std::vector<DatasetNumber> numbers;
  for (const auto& [at, text] : wanted) numbers.push_back(at);
  CHECK(table.numbers() == numbers);
  std::size_t visited = 0;
  table.for_each([&](DatasetNumber at, const std::string& text) {
    ++visited;
    CHECK(wanted.at(at) == text);
  });
  CHECK(visited == wanted.size());
  table.clear();
  CHECK(table.numbers().empty());
  CHECK(!table.contains(numbers.front()));
}

TEST_CASE("A table by number knows what was asked last no longer than it has it", "[core][index]") {
  ByNumber<int> table;
  table[3] = 42;
  REQUIRE(table.find(3) != nullptr);
  table.erase(3);
  CHECK(table.find(3) == nullptr);
  table[3] = 43;
  ByNumber<int> taken = std::move(table);
  CHECK(*taken.find(3) == 43);
  CHECK(table.find(3) == nullptr);  // NOLINT(bugprone-use-after-move): empty, it says
  table[3] = 44;
  table[500] = 45;
  CHECK(*taken.find(3) == 43);
  taken = std::move(table);
  CHECK(*taken.find(3) == 44);
  CHECK(table.find(500) == nullptr);  // NOLINT(bugprone-use-after-move)
  taken.clear();
  CHECK(taken.find(3) == nullptr);
}

TEST_CASE("What lies in a table by number stays where it is", "[core][index]") {
  ByNumber<int> table;
  int* const first = &table[3];
  *first = 42;
  for (DatasetNumber at = 0; at < 5000; ++at) table[at * 7 + 4] = 1;
  table.erase(4);
  CHECK(table.find(3) == first);
  CHECK(*first == 42);
}

}  // namespace
}  // namespace bento
