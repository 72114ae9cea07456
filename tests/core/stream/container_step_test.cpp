// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/stream/container_step.hpp"

#include <catch2/catch_test_macros.hpp>

#include "core/stream/block_reuse.hpp"

using namespace bento;

TEST_CASE("container step: comes back, or as a later one", "[core][stream]") {
  constexpr std::uint64_t kRemainders = (1u << 24) - 1;
  fti::v11::DbVar var;
  CHECK_FALSE(step_of(var, 1000));
  for (const std::uint64_t step : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{255},
                                   std::uint64_t{70'000}, kRemainders - 1, kRemainders}) {
    set_step(var, step);
    CHECK(step_of(var, step) == step);
    CHECK(step_of(var, step + kRemainders - 1) == step);
    CHECK(step_of(var, step + kRemainders) == step + kRemainders);
  }
  // A step that the newest root does not know is no step.
  set_step(var, 12);
  CHECK_FALSE(step_of(var, 11));
}

TEST_CASE("block reuse: blocks of earlier sessions wait for the steps that need them",
          "[core][stream]") {
  BlockReuse reuse;
  reuse.add_dead({0, {0, 100'000}}, 5);
  reuse.add_dead({200'000, {0, 100'000}}, 7);
  reuse.release(4);
  CHECK_FALSE(reuse.take_large(100'000));
  reuse.release(6);
  const auto first = reuse.take_large(100'000);
  REQUIRE(first);
  CHECK(first->position == 0);
  CHECK_FALSE(reuse.take_large(100'000));
  reuse.release(7);
  CHECK(reuse.take_large(100'000)->position == 200'000);
}
