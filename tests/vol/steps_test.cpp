// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Library calls about steps and values, on files that the connector writes in this process.
#include <limits>
#include <numeric>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "hdf5/base/handle.hpp"
#include "tests/core/container/forged_step.hpp"
#include "tests/support/test_memory.hpp"
#include "tests/vol/fake_host.hpp"
#include "vol/library/bento_list.hpp"
#include "vol/library/steps.hpp"

namespace bento::vol {
namespace {

using test::WorkFolder;

constexpr const char* kFile = "steps.h5";
constexpr hsize_t kCount = 40;

PlistHandle access(const std::string& config = {}) {
  auto list = bento_list(config);
  REQUIRE(list);
  return std::move(*list);
}

FileHandle create(const std::string& config) {
  FileHandle file(H5Fcreate(kFile, H5F_ACC_TRUNC, H5P_DEFAULT, access(config).get()));
  REQUIRE(file.valid());
  return file;
}

DatasetHandle make(const FileHandle& file, const char* name, hid_t type = H5T_NATIVE_INT,
                   hid_t dcpl = H5P_DEFAULT) {
  const SpaceHandle space(H5Screate_simple(1, &kCount, nullptr));
  DatasetHandle dataset(
      H5Dcreate2(file.get(), name, type, space.get(), H5P_DEFAULT, dcpl, H5P_DEFAULT));
  REQUIRE(dataset.valid());
  return dataset;
}

template <class T>
void put(const DatasetHandle& dataset, hid_t type, hsize_t start, const std::vector<T>& values) {
  const hsize_t count = values.size();
  const SpaceHandle space(H5Dget_space(dataset.get()));
  H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &start, nullptr, &count, nullptr);
  const SpaceHandle memory(H5Screate_simple(1, &count, nullptr));
  REQUIRE(H5Dwrite(dataset.get(), type, memory.get(), space.get(), H5P_DEFAULT, values.data()) >=
          0);
}

std::vector<int> run(int first) {
  std::vector<int> values(kCount);
  std::iota(values.begin(), values.end(), first);
  return values;
}

std::vector<int> all(const DatasetHandle& dataset) {
  std::vector<int> values(kCount, -1);
  REQUIRE(H5Dread(dataset.get(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >=
          0);
  return values;
}

void flush(const FileHandle& file) {
  REQUIRE(H5Fflush(file.get(), H5F_SCOPE_LOCAL) >= 0);
}

/// a in steps 1, 2, 4; b in 1 and 3; old in 1 and 2, deleted in step 4; text is in the skeleton.
void write_steps(const std::string& config) {
  const FileHandle file = create(config);
  const DatasetHandle a = make(file, "a");
  const GroupHandle group(H5Gcreate2(file.get(), "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  const DatasetHandle b = make(file, "g/b");
  DatasetHandle old = make(file, "old");
  const TypeHandle text(H5Tcopy(H5T_C_S1));
  REQUIRE(H5Tset_size(text.get(), H5T_VARIABLE) >= 0);
  make(file, "text", text.get());
  put(a, H5T_NATIVE_INT, 0, run(100));
  put(b, H5T_NATIVE_INT, 0, run(1000));
  put(old, H5T_NATIVE_INT, 0, run(5));
  flush(file);
  put(a, H5T_NATIVE_INT, 0, run(200));
  put(old, H5T_NATIVE_INT, 0, run(6));
  flush(file);
  put(b, H5T_NATIVE_INT, 0, run(3000));
  flush(file);
  put(a, H5T_NATIVE_INT, 0, run(400));
  old.reset();
  REQUIRE(H5Ldelete(file.get(), "old", H5P_DEFAULT) >= 0);
}

std::vector<std::string> paths(const FileStep& step) {
  std::vector<std::string> names;
  for (const auto& dataset : step.datasets) names.push_back(dataset.path);
  return names;
}

TEST_CASE("Steps of a file, with what was written in each", "[steps]") {
  const WorkFolder folder;
  write_steps("keep=all");
  const auto steps = list_steps(kFile);
  REQUIRE(steps);
  REQUIRE(steps->size() >= 4);
  for (std::size_t i = 0; i < steps->size(); ++i) CHECK((*steps)[i].step == AbsoluteStep(i + 1));
  CHECK(paths((*steps)[0]) == std::vector<std::string>{"/a", "/g/b", "/old"});
  CHECK(paths((*steps)[1]) == std::vector<std::string>{"/a", "/old"});
  CHECK(paths((*steps)[2]) == std::vector<std::string>{"/g/b"});
  CHECK(paths((*steps)[3]) == std::vector<std::string>{"/a"});
}

TEST_CASE("Relative steps of a dataset, and the dataset as of each", "[steps]") {
  const WorkFolder folder;
  write_steps("keep=all");
  const auto steps = dataset_steps(kFile, "/a");
  REQUIRE(steps);
  REQUIRE(steps->size() == 3);
  const std::vector<std::uint64_t> absolute = {1, 2, 4};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK((*steps)[i].relative == RelativeStep(i));
    CHECK((*steps)[i].absolute == AbsoluteStep(absolute[i]));
  }
  // Side by side, with the newest, too.
  const FileHandle newest(H5Fopen(kFile, H5F_ACC_RDONLY, access().get()));
  const auto zero = open_dataset_step(kFile, "/a", RelativeStep(0));
  const auto one = open_dataset_step(kFile, "/a", RelativeStep(1));
  const auto two = open_dataset_step(kFile, "/a", RelativeStep(2));
  REQUIRE((zero && one && two));
  CHECK(all(zero->dataset) == run(100));
  CHECK(all(one->dataset) == run(200));
  CHECK(all(two->dataset) == run(400));
  const DatasetHandle now(H5Dopen2(newest.get(), "a", H5P_DEFAULT));
  CHECK(all(now) == run(400));
  CHECK(zero->step == AbsoluteStep(1));
  const DatasetHandle other(H5Dopen2(one->file.get(), "/old", H5P_DEFAULT));
  CHECK(all(other) == run(6));

  const auto b = open_dataset_step(kFile, "/g/b", RelativeStep(1));
  REQUIRE(b);
  CHECK(b->step == AbsoluteStep(3));
  CHECK(all(b->dataset) == run(3000));
  const auto beyond = open_dataset_step(kFile, "/g/b", RelativeStep(2));
  REQUIRE_FALSE(beyond);
  CHECK(beyond.error().code == Code::kNotFound);
  CHECK(beyond.error().text.find("from 0 to 1") != std::string::npos);
  CHECK(dataset_steps(kFile, "/none").error().code == Code::kNotFound);
  CHECK(dataset_steps(kFile, "/g").error().code == Code::kNotFound);
  CHECK(dataset_steps(kFile, "/text").error().code == Code::kInvalidArgument);
}

TEST_CASE("With the newest step kept only, each dataset has its last relative step", "[steps]") {
  const WorkFolder folder;
  write_steps("");
  const auto b = dataset_steps(kFile, "/g/b");
  REQUIRE(b);
  REQUIRE(b->size() == 1);
  CHECK(b->front().relative == RelativeStep(1));
  CHECK(b->front().absolute == AbsoluteStep(3));
  const auto opened = open_dataset_step(kFile, "/g/b", RelativeStep(1));
  REQUIRE(opened);
  CHECK(all(opened->dataset) == run(3000));
  const auto dropped = open_dataset_step(kFile, "/a", RelativeStep(0));
  REQUIRE_FALSE(dropped);
  CHECK(dropped.error().code == Code::kNotFound);
}

Box from(std::uint64_t start, std::uint64_t count) {
  return {Dims{start}, Dims{count}};
}

/// Looks for every single value that was written, everywhere: it must be in a box.
template <class T>
void check_never_misses(const char* name, const std::vector<T>& values) {
  for (std::uint64_t i = 0; i < values.size(); ++i) {
    Number number;
    if constexpr (std::is_floating_point_v<T>)
      number = static_cast<double>(values[i]);
    else if constexpr (std::is_signed_v<T>)
      number = static_cast<std::int64_t>(values[i]);
    else
      number = static_cast<std::uint64_t>(values[i]);
    const auto found = find_records(kFile, name, from(0, kCount), number, number);
    REQUIRE(found);
    bool there = false;
    for (const auto& box : found->boxes) there = there || contains(box, from(i, 1));
    INFO(name << " element " << i);
    if (values[i] == values[i]) CHECK(there);
  }
}

TEST_CASE("Questions for values skip records and never miss one", "[steps][minmax]") {
  const WorkFolder folder;
  std::vector<int> numbers = run(-20);
  std::vector<double> reals(kCount);
  std::vector<std::uint16_t> naturals(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    reals[i] = -2.0 + 0.1 * static_cast<double>(i);
    naturals[i] = static_cast<std::uint16_t>(65535 - i);
  }
  reals[25] = std::numeric_limits<double>::quiet_NaN();
  {
    const FileHandle file = create("minmax=on");
    const PlistHandle zipped(H5Pcreate(H5P_DATASET_CREATE));
    const PlistHandle rounded(H5Pcreate(H5P_DATASET_CREATE));
    const hsize_t chunk = 10;
    for (const hid_t list : {zipped.get(), rounded.get()}) H5Pset_chunk(list, 1, &chunk);
    H5Pset_deflate(zipped.get(), 1);
    H5Pset_scaleoffset(rounded.get(), H5Z_SO_FLOAT_DSCALE, 0);
    const DatasetHandle i32 = make(file, "i32", H5T_STD_I32LE);
    const DatasetHandle i32be = make(file, "i32be", H5T_STD_I32BE);
    const DatasetHandle f64 = make(file, "f64", H5T_IEEE_F64BE);
    const DatasetHandle u16 = make(file, "u16", H5T_STD_U16BE);
    const DatasetHandle gz = make(file, "gz", H5T_STD_I32LE, zipped.get());
    // From the end to the beginning, so that small records do not become one.
    for (hsize_t start : {30u, 20u, 10u, 0u}) {
      const auto part = [&](const auto& values) {
        const auto first = values.begin() + static_cast<std::ptrdiff_t>(start);
        return std::remove_cvref_t<decltype(values)>(first, first + 10);
      };
      put(i32, H5T_NATIVE_INT, start, part(numbers));
      put(i32be, H5T_NATIVE_INT, start, part(numbers));
      put(gz, H5T_NATIVE_INT, start, part(numbers));
      put(f64, H5T_NATIVE_DOUBLE, start, part(reals));
      put(u16, H5T_NATIVE_UINT16, start, part(naturals));
    }
  }
  for (const char* name : {"/i32", "/i32be", "/gz"}) {
    check_never_misses(name, numbers);
    const auto few = find_records(kFile, name, from(0, kCount), -20.0, -15.0);
    REQUIRE(few);
    INFO(name);
    CHECK(few->skipped == 3);
    CHECK(few->boxes == std::vector<Box>{from(0, 10)});
    CHECK(few->written == kCount);
    CHECK(few->kept == 10);
  }
  check_never_misses("/f64", reals);
  check_never_misses("/u16", naturals);
  // The record with the NaN is never skipped.
  const auto reals_found = find_records(kFile, "/f64", from(0, kCount), 100.0, 200.0);
  REQUIRE(reals_found);
  CHECK(reals_found->skipped == 3);
  CHECK(reals_found->boxes == std::vector<Box>{from(20, 10)});
  const auto part = find_records(kFile, "/u16", from(5, 10), std::uint64_t{0}, ~std::uint64_t{0});
  REQUIRE(part);
  CHECK(part->skipped == 0);
  CHECK(part->kept == 10);
  const auto none = find_records(kFile, "/i32", from(0, kCount), 1.2, 1.8);
  REQUIRE(none);
  CHECK(none->boxes.empty());
  CHECK(none->skipped == 4);
  CHECK(find_records(kFile, "/i32", from(35, 10), 1.0, 2.0).error().code == Code::kInvalidArgument);
}

TEST_CASE("Filtered records: skipped, but not if the filter rounds values", "[steps][minmax]") {
  const WorkFolder folder;
  constexpr hsize_t kChunk = 2000;
  constexpr hsize_t kMany = 2 * kChunk;
  std::vector<double> values(kMany, 11.0);
  // The filter counts in whole numbers from the smallest one: 11.0 becomes 11.4.
  values[0] = values[kChunk] = 10.4;
  {
    const FileHandle file = create("minmax=on");
    const SpaceHandle space(H5Screate_simple(1, &kMany, nullptr));
    for (const bool lossy : {false, true}) {
      const PlistHandle list(H5Pcreate(H5P_DATASET_CREATE));
      H5Pset_chunk(list.get(), 1, &kChunk);
      if (lossy)
        H5Pset_scaleoffset(list.get(), H5Z_SO_FLOAT_DSCALE, 0);
      else
        H5Pset_deflate(list.get(), 1);
      const DatasetHandle dataset(H5Dcreate2(file.get(), lossy ? "rounded" : "gz", H5T_IEEE_F64LE,
                                             space.get(), H5P_DEFAULT, list.get(), H5P_DEFAULT));
      put(dataset, H5T_NATIVE_DOUBLE, 0, values);
    }
  }
  {
    const FileHandle file(H5Fopen(kFile, H5F_ACC_RDONLY, access().get()));
    const DatasetHandle dataset(H5Dopen2(file.get(), "rounded", H5P_DEFAULT));
    REQUIRE(H5Dread(dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                    values.data()) >= 0);
  }
  REQUIRE(values[1] > 11.3);
  const auto found = find_records(kFile, "/rounded", from(0, kMany), values[1], values[1]);
  REQUIRE(found);
  CHECK(found->kept == kMany);
  const auto exact = find_records(kFile, "/gz", from(0, kMany), values[1], values[1]);
  REQUIRE(exact);
  CHECK(exact->kept == 0);
  CHECK(exact->skipped == 2);
}

TEST_CASE("Without minmax=on no record is skipped", "[steps][minmax]") {
  const WorkFolder folder;
  {
    const FileHandle file = create("");
    put(make(file, "d"), H5T_NATIVE_INT, 0, run(0));
  }
  const auto found = find_records(kFile, "/d", from(0, kCount), 1000.0, 2000.0);
  REQUIRE(found);
  CHECK(found->skipped == 0);
  CHECK(found->kept == kCount);
}

TEST_CASE("Records that the file has no room for are not believed", "[steps][minmax]") {
  const WorkFolder folder;
  {
    const FileHandle file = create("minmax=on");
    put(make(file, "d"), H5T_NATIVE_INT, 0, run(0));
  }
  {
    const auto file = bento::test::must(open_posix_file(kFile, OpenMode::kReadWrite));
    const auto records = bento::test::seen_records(*file, 0);
    REQUIRE(records.size() == 1);
    bento::test::add_step(*file, {.records = records,
                                  .element_bytes = 4,
                                  .forged = {step_test::many_of(records.front(), 4, 19)}});
  }
  const bento::test::MemoryWatch watch;
  const auto found = find_records(kFile, "/d", from(0, kCount), 10.0, 20.0);
  bento::test::require_error(found, Code::kUnsupported, {"records"});
  CHECK(watch.peak() < 512u << 20);
}

}  // namespace
}  // namespace bento::vol
