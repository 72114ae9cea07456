// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// A dataset's extent is remembered by each that has it open, until somebody changes it.
#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "hdf5/base/handle.hpp"
#include "tests/vol/fake_host.hpp"
#include "vol/library/bento_list.hpp"

namespace bento::vol {
namespace {

/// Integers along one dimension, which two handles have open.
struct Growing {
  std::array<DatasetHandle, 2> open;
  std::vector<int> values;
};

Growing make(hid_t file, const char* name) {
  const hsize_t none = 0;
  const hsize_t chunk = 16;
  const hsize_t limit = H5S_UNLIMITED;
  const SpaceHandle space(H5Screate_simple(1, &none, &limit));
  const PlistHandle list(H5Pcreate(H5P_DATASET_CREATE));
  H5Pset_chunk(list.get(), 1, &chunk);
  Growing made;
  made.open[0] = DatasetHandle(
      H5Dcreate2(file, name, H5T_NATIVE_INT, space.get(), H5P_DEFAULT, list.get(), H5P_DEFAULT));
  made.open[1] = DatasetHandle(H5Dopen2(file, name, H5P_DEFAULT));
  return made;
}

herr_t write_at(hid_t dataset, hsize_t at, int value) {
  const hsize_t one = 1;
  const hsize_t extent = at + 1;
  const SpaceHandle memory(H5Screate_simple(1, &one, nullptr));
  const SpaceHandle where(H5Screate_simple(1, &extent, nullptr));
  H5Sselect_hyperslab(where.get(), H5S_SELECT_SET, &at, nullptr, &one, nullptr);
  herr_t done = -1;
  H5E_BEGIN_TRY {
    done = H5Dwrite(dataset, H5T_NATIVE_INT, memory.get(), where.get(), H5P_DEFAULT, &value);
  }
  H5E_END_TRY
  return done;
}

std::vector<int> all_of(hid_t dataset, std::size_t count) {
  std::vector<int> values(count + 1, -1);
  REQUIRE(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0);
  CHECK(values.back() == -1);
  values.pop_back();
  return values;
}

}  // namespace

TEST_CASE("extent: what one handle changes counts for the other, and for no other dataset",
          "[vol]") {
  const test::WorkFolder folder;
  auto list = bento_list();
  REQUIRE(list);
  const FileHandle file(H5Fcreate("file.h5", H5F_ACC_TRUNC, H5P_DEFAULT, list->get()));
  std::array<Growing, 2> both{make(file.get(), "one"), make(file.get(), "two")};
  std::mt19937 random(5);  // NOLINT: the same each time
  for (int turn = 0; turn < 400; ++turn) {
    CAPTURE(turn);
    Growing& of = both[random() % 2];
    const hid_t changes = of.open[random() % 2].get();
    const hid_t uses = of.open[random() % 2].get();
    const std::size_t count =
        random() % 4 == 0 ? random() % (of.values.size() + 1) : of.values.size() + random() % 3;
    of.values.resize(count, 0);
    const hsize_t extent = count;
    REQUIRE(H5Dset_extent(changes, &extent) >= 0);
    CHECK(write_at(uses, count, turn) < 0);
    if (count > 0) {
      REQUIRE(write_at(uses, count - 1, turn) >= 0);
      of.values.back() = turn;
    }
    for (const Growing& each : both)
      for (const DatasetHandle& handle : each.open)
        REQUIRE(all_of(handle.get(), each.values.size()) == each.values);
  }
}

TEST_CASE("extent: a virtual dataset that is open twice has one", "[vol]") {
  const test::WorkFolder folder;
  auto list = bento_list();
  REQUIRE(list);
  const FileHandle file(H5Fcreate("file.h5", H5F_ACC_TRUNC, H5P_DEFAULT, list->get()));
  const hsize_t source_extent = 20;
  const hsize_t first = 8;
  const hsize_t mapped = 4;
  const hsize_t limit = 30;
  const SpaceHandle source_space(H5Screate_simple(1, &source_extent, nullptr));
  const DatasetHandle source(H5Dcreate2(file.get(), "source", H5T_NATIVE_INT, source_space.get(),
                                        H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  std::vector<int> values(source_extent);
  std::iota(values.begin(), values.end(), 1);
  REQUIRE(H5Dwrite(source.get(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >=
          0);
  const SpaceHandle space(H5Screate_simple(1, &first, &limit));
  const SpaceHandle part(H5Scopy(space.get()));
  const hsize_t origin = 0;
  H5Sselect_hyperslab(part.get(), H5S_SELECT_SET, &origin, nullptr, &mapped, nullptr);
  H5Sselect_hyperslab(source_space.get(), H5S_SELECT_SET, &origin, nullptr, &mapped, nullptr);
  const PlistHandle creation(H5Pcreate(H5P_DATASET_CREATE));
  REQUIRE(H5Pset_virtual(creation.get(), part.get(), ".", "source", source_space.get()) >= 0);
  const DatasetHandle one(H5Dcreate2(file.get(), "virtual", H5T_NATIVE_INT, space.get(),
                                     H5P_DEFAULT, creation.get(), H5P_DEFAULT));
  const DatasetHandle two(H5Dopen2(file.get(), "virtual", H5P_DEFAULT));
  for (const hsize_t extent : {8u, 6u, 10u, 5u}) {
    CAPTURE(extent);
    REQUIRE(H5Dset_extent(extent % 4 == 0 ? one.get() : two.get(), &extent) >= 0);
    for (const hid_t handle : {one.get(), two.get()}) {
      std::vector<int> found(limit, -1);
      REQUIRE(H5Dread(handle, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, found.data()) >= 0);
      std::vector<int> wanted(limit, -1);
      std::fill_n(wanted.begin(), extent, 0);
      std::iota(wanted.begin(), wanted.begin() + mapped, 1);
      CHECK(found == wanted);
    }
  }
}

}  // namespace bento::vol
