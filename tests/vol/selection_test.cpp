// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/data/selection.hpp"

#include <catch2/catch_test_macros.hpp>

#include "hdf5/base/handle.hpp"
#include "hdf5/data/plain_selection.hpp"
#include "tests/support/matchers.hpp"
#include "vol/data/elements_in_memory.hpp"

using namespace bento;
using namespace bento::test;
using namespace bento::vol;

namespace {

/// Every `stride`-th element of the first dimension of a plane, from 0 on, is added.
void add(hid_t space, hsize_t stride, hsize_t count) {
  const hsize_t start[2] = {0, 0};
  const hsize_t strides[2] = {stride, 1};
  const hsize_t counts[2] = {count, 1};
  REQUIRE(H5Sselect_hyperslab(space, H5S_SELECT_OR, start, strides, counts, nullptr) >= 0);
}

SpaceHandle nothing_of(int rank) {
  const hsize_t extent[2] = {6, 6};
  SpaceHandle space(H5Screate_simple(rank, extent, nullptr));
  REQUIRE(H5Sselect_none(space.get()) >= 0);
  return space;
}

}  // namespace

// HDF5 1.14.5 says of {0} and {0, 3} together: 2 elements, count 1. Its own iterator then gives
// what lies anywhere.
TEST_CASE("selection: a union that the library takes for other elements is refused", "[vol]") {
  for (const int rank : {1, 2}) {
    const SpaceHandle space = nothing_of(rank);
    add(space.get(), 1, 1);
    add(space.get(), 3, 2);
    const auto shape = shape_of(space.get());
    hsize_t start[2] = {};
    hsize_t stride[2] = {};
    hsize_t count[2] = {};
    hsize_t block[2] = {};
    REQUIRE(H5Sget_regular_hyperslab(space.get(), start, stride, count, block) >= 0);
    if (count[0] == 2) {  // an HDF5 that has mended it
      CHECK(must(shape_of(space.get())).elements == 2);
      continue;
    }
    REQUIRE_FALSE(shape.has_value());
    CHECK(shape.error().code == Code::kUnsupported);
    CHECK_FALSE(is_irregular(space.get()).has_value());
    const auto memory = ElementsInMemory::of(space.get());
    REQUIRE_FALSE(memory.has_value());
    CHECK(memory.error().code == Code::kUnsupported);
  }
}

TEST_CASE("selection: other unions are taken as they are", "[vol]") {
  const SpaceHandle space = nothing_of(2);
  add(space.get(), 3, 2);
  CHECK_FALSE(must(is_irregular(space.get())));
  CHECK(must(shape_of(space.get())).elements == 2);
  const hsize_t start[2] = {1, 2};
  const hsize_t count[2] = {4, 3};
  REQUIRE(H5Sselect_hyperslab(space.get(), H5S_SELECT_OR, start, nullptr, count, nullptr) >= 0);
  CHECK(must(is_irregular(space.get())));
  const SelectionShape shape = must(shape_of(space.get()));
  CHECK(shape.elements == 14);
  CHECK(shape.form == SelectionShape::Form::kRuns);
}
