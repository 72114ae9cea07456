// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/stream/container_fit.hpp"

#include <algorithm>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "core/stream/block_reuse.hpp"

using namespace bento;

namespace {

using Sizes = std::vector<std::uint64_t>;
constexpr std::size_t kNone = ContainerFit::kNone;

ContainerFit fit(const Sizes& sizes, const Sizes& capacities) {
  return fit_records(sizes, largest_first(sizes), capacities);
}

}  // namespace

TEST_CASE("container fit: the largest record that fits, the largest container first",
          "[core][stream]") {
  const ContainerFit some = fit({10, 30, 20, 41}, {20, 5, 40, 0});
  CHECK(some.record_of == std::vector<std::size_t>{2, kNone, 1, kNone});
  CHECK(some.bytes == 50);
  CHECK(fit({10, 10}, {10, 10, 10}).record_of == std::vector<std::size_t>{0, 1, kNone});
  CHECK(fit({7}, {6, 5}).bytes == 0);
  CHECK(fit({}, {6}).record_of == std::vector<std::size_t>{kNone});
}

TEST_CASE("block reuse: a block whose containers are of other sizes", "[core][stream]") {
  BlockReuse reuse;
  CHECK_FALSE(reuse.has_small());
  reuse.add_free({0, {100, 200, 300}});
  reuse.add_free({5000, {500, 110}});
  reuse.add_free({9000, {10'000, 10'000}});
  CHECK_FALSE(reuse.take_fitting(Sizes{}));

  // All of it fits the second one only.
  const auto first = reuse.take_fitting(Sizes{105, 450});
  REQUIRE(first);
  CHECK(first->block.position == 5000);
  CHECK(first->fit.record_of == std::vector<std::size_t>{1, 0});
  // Less than a quarter of the others would be used.
  CHECK_FALSE(reuse.take_fitting(Sizes{90}));
  const auto second = reuse.take_fitting(Sizes{301, 299});
  REQUIRE(second);
  CHECK(second->block.position == 0);
  CHECK(second->fit.bytes == 299);
  CHECK(reuse.take_small(Sizes{10'000, 10'000}));
  CHECK_FALSE(reuse.has_small());
  CHECK_FALSE(reuse.take_fitting(Sizes{105, 450}));
}
