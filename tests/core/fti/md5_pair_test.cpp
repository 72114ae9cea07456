// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/fti/md5_pair.hpp"

#include <catch2/catch_test_macros.hpp>

#include <random>
#include <vector>

namespace bento {
namespace {

TEST_CASE("fti md5: two hashes in one pass are those of nettle, however the data is cut",
          "[core][fti]") {
  // The second is that of this processor: the same one where it has no AVX-512.
  const auto make = [](int round) {
    return round % 3 == 0 ? fti::Md5Pair(&fti::md5_steps::portable_pair) : fti::Md5Pair();
  };
  std::mt19937 dice(1);
  const auto below = [&dice](unsigned limit) { return static_cast<unsigned>(dice() % limit); };
  for (int round = 0; round < 400; ++round) {
    fti::Md5Pair pair = make(round);
    fti::Md5 first;
    fti::Md5 second;
    const unsigned pieces = below(12);
    for (unsigned i = 0; i < pieces; ++i) {
      std::vector<std::byte> piece(below(round % 2 == 0 ? 70 : 1000));
      for (auto& byte : piece) byte = static_cast<std::byte>(dice());
      if (below(5) == 0) {
        pair.restart_second();
        second = {};
      }
      first.update(piece);
      if (below(3) == 0) {
        pair.update_first(piece);
      } else {
        pair.update_both(piece);
        second.update(piece);
      }
      CHECK(pair.second() == second.digest());  // and more may follow
    }
    REQUIRE(pair.first() == first.digest());
    REQUIRE(pair.second() == second.digest());
  }
}

}  // namespace
}  // namespace bento
