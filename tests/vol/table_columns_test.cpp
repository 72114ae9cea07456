// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/table_columns.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace bento;
using vol::cut_of_table;

TEST_CASE("table columns: which tables are cut, and how", "[vol]") {
  // Each column is long enough by itself.
  auto cut = cut_of_table(Dims{20'000, 50}, Dims{1000, 1}, 8);
  REQUIRE(cut);
  CHECK(cut->rows == 20'000);
  CHECK(cut->columns == 1);
  // Short columns go together, in whole chunks.
  cut = cut_of_table(Dims{3000, 100}, Dims{100, 3}, 8);
  REQUIRE(cut);
  CHECK(cut->rows == 3000);
  CHECK(cut->columns == 3);
  cut = cut_of_table(Dims{1000, 200}, Dims{1000, 1}, 8);
  REQUIRE(cut);
  CHECK(cut->columns == 10);  // so that the last record has as many
  // Not too many beside each other, nor below each other, nor all of a large one in memory.
  cut = cut_of_table(Dims{100'000, 1000}, Dims{1000, 1}, 8);
  REQUIRE(cut);
  CHECK(cut->rows == 6250);
  CHECK(cut->columns == 20);
  cut = cut_of_table(Dims{100'007, 1000}, Dims{1000, 1}, 8);
  REQUIRE(cut);
  CHECK(cut->rows == 6250);  // seven are left
  cut = cut_of_table(Dims{200'000, 40}, Dims{1000, 1}, 8);
  REQUIRE(cut);
  CHECK(cut->rows == 50'000);
  CHECK(cut->columns == 1);
}

TEST_CASE("table columns: what stays one record", "[vol]") {
  CHECK_FALSE(cut_of_table(Dims{1'000'000}, Dims{1000}, 8));
  CHECK_FALSE(cut_of_table(Dims{20'000, 5, 10}, Dims{1000, 1, 1}, 8));
  CHECK_FALSE(cut_of_table(Dims{20'000, 50}, Dims{1000, 50}, 8));
  CHECK_FALSE(cut_of_table(Dims{20'000, 50}, Dims{1, 1}, 8));       // no columns
  CHECK_FALSE(cut_of_table(Dims{20'000, 50}, Dims{1000, 1}, 100));  // wide enough to be read alone
  CHECK_FALSE(cut_of_table(Dims{20'000, 7}, Dims{1000, 1}, 8));
  CHECK_FALSE(cut_of_table(Dims{2000, 50}, Dims{1000, 1}, 8));  // small
  CHECK_FALSE(cut_of_table(Dims{0, 50}, Dims{1000, 1}, 8));
  CHECK_FALSE(cut_of_table(Dims{20'000, 50}, Dims{}, 8));
}
