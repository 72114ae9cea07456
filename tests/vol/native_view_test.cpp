// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// The native view's library calls, in one process: what the connector wrote is opened with the
// native connector and sec2, changed there, and dropped or taken over.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "core/container/container.hpp"
#include "core/io/file.hpp"
#include "core/layout/names.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/view/source_files.hpp"
#include "tests/vol/fake_host.hpp"
#include "vol/callbacks/callbacks.hpp"
#include "vol/library/edited_view.hpp"

namespace bento::vol {
namespace {

using Catch::Matchers::ContainsSubstring;
using test::WorkFolder;

constexpr hsize_t kRows = 300;
constexpr hsize_t kColumns = 200;  // 240,000 bytes: more than what is copied into a view
constexpr const char* kFile = "view.h5";

PlistHandle bento_access(const char* config = "") {
  const hid_t connector = H5VLregister_connector(&connector_class(), H5P_DEFAULT);
  void* info = nullptr;
  REQUIRE(H5VLconnector_str_to_info(config, connector, &info) >= 0);
  PlistHandle list(H5Pcreate(H5P_FILE_ACCESS));
  REQUIRE(H5Pset_vol(list.get(), connector, info) >= 0);
  if (info != nullptr) H5VLfree_connector_info(connector, info);
  H5VLclose(connector);
  return list;
}

FileHandle open_with(const PlistHandle& list, unsigned flags) {
  FileHandle file;
  H5E_BEGIN_TRY {
    file = FileHandle(H5Fopen(kFile, flags, list.get()));
  }
  H5E_END_TRY
  return file;
}
FileHandle open_bento(unsigned flags) {
  return open_with(bento_access(), flags);
}
FileHandle open_native(unsigned flags) {
  return open_with(PlistHandle(H5Pcreate(H5P_FILE_ACCESS)), flags);
}

// An open would look for a connector when it finds no HDF5 file, and find ours.
bool is_native() {
  const PlistHandle list(H5Pcreate(H5P_FILE_ACCESS));
  return H5Fis_accessible(kFile, list.get()) > 0;
}

std::vector<int> numbers(int first = 0) {
  std::vector<int> values(kRows * kColumns);
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// Over a part of what is there.
void write_patch(hid_t dataset, std::vector<int>& values) {
  const hsize_t start[2] = {10, 20};
  const hsize_t count[2] = {100, 50};
  const SpaceHandle space(H5Dget_space(dataset));
  REQUIRE(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start, nullptr, count, nullptr) >= 0);
  const SpaceHandle memory(H5Screate_simple(2, count, nullptr));
  const std::vector<int> patch(100 * 50, -1);
  REQUIRE(H5Dwrite(dataset, H5T_NATIVE_INT, memory.get(), space.get(), H5P_DEFAULT, patch.data()) >=
          0);
  for (hsize_t row = 10; row < 110; ++row)
    for (hsize_t column = 20; column < 70; ++column) values[row * kColumns + column] = -1;
}

/// Two boxes, the second over a part of the first, so that the dataset is a virtual one in the
/// view.
std::vector<int> write_container(const char* config = "") {
  const FileHandle file(H5Fcreate(kFile, H5F_ACC_TRUNC, H5P_DEFAULT, bento_access(config).get()));
  REQUIRE(file.valid());
  const hsize_t dims[2] = {kRows, kColumns};
  const SpaceHandle space(H5Screate_simple(2, dims, nullptr));
  const DatasetHandle dataset(H5Dcreate2(file.get(), "d", H5T_STD_I32LE, space.get(), H5P_DEFAULT,
                                         H5P_DEFAULT, H5P_DEFAULT));
  auto values = numbers();
  REQUIRE(H5Dwrite(dataset.get(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >=
          0);
  write_patch(dataset.get(), values);
  return values;
}

std::vector<int> read(const FileHandle& file, const char* name = "d") {
  const DatasetHandle dataset(H5Dopen2(file.get(), name, H5P_DEFAULT));
  std::vector<int> values(kRows * kColumns, 12345);
  if (!dataset.valid() ||
      H5Dread(dataset.get(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
    return {};
  return values;
}

void add_attribute(const FileHandle& file, const char* name) {
  const SpaceHandle space(H5Screate(H5S_SCALAR));
  const AttributeHandle attribute(
      H5Acreate2(file.get(), name, H5T_STD_I32LE, space.get(), H5P_DEFAULT, H5P_DEFAULT));
  const int value = 5;
  REQUIRE(H5Awrite(attribute.get(), H5T_NATIVE_INT, &value) >= 0);
}

bool has_attribute(const FileHandle& file, const char* name) {
  return H5Aexists(file.get(), name) > 0;
}

TEST_CASE("native view: what was written is read without the connector", "[vol][view]") {
  const WorkFolder folder;
  const auto values = write_container();
  const FileHandle stock = open_native(H5F_ACC_RDONLY);
  REQUIRE(stock.valid());
  CHECK(read(stock) == values);
}

// What the library gives of objects that share messages would be written into the view as places of
// the skeleton.
TEST_CASE("native view: a file whose objects share messages has none", "[vol][view]") {
  const WorkFolder folder;
  {
    const PlistHandle creation(H5Pcreate(H5P_FILE_CREATE));
    REQUIRE(H5Pset_shared_mesg_nindexes(creation.get(), 1) >= 0);
    REQUIRE(H5Pset_shared_mesg_index(creation.get(), 0, H5O_SHMESG_ALL_FLAG, 8) >= 0);
    const FileHandle file(H5Fcreate(kFile, H5F_ACC_TRUNC, creation.get(), bento_access().get()));
    REQUIRE(file.valid());
    const hsize_t dims = 5;
    const SpaceHandle space(H5Screate_simple(1, &dims, nullptr));
    for (const char* const name : {"a", "b", "c"}) {
      const DatasetHandle dataset(H5Dcreate2(file.get(), name, H5T_STD_I32LE, space.get(),
                                             H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
      const int values[5] = {1, 2, 3, 4, 5};
      REQUIRE(H5Dwrite(dataset.get(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    }
  }
  CHECK_FALSE(is_native());
  const FileHandle file = open_bento(H5F_ACC_RDONLY);
  const DatasetHandle dataset(H5Dopen2(file.get(), "c", H5P_DEFAULT));
  int found[5] = {};
  REQUIRE(H5Dread(dataset.get(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, found) >= 0);
  CHECK(found[4] == 5);
}

TEST_CASE("native view: building it leaves the program's error handler alone", "[vol][view]") {
  const WorkFolder folder;
  H5E_auto2_t second = nullptr;
  void* data = nullptr;
  REQUIRE(H5Eget_auto2(H5E_DEFAULT, &second, &data) >= 0);
  const H5E_auto1_t first = [](void*) -> herr_t { return 0; };
  int mark = 0;
  REQUIRE(H5Eset_auto1(first, &mark) >= 0);
  write_container();
  H5E_auto1_t found = nullptr;
  void* found_data = nullptr;
  CHECK(H5Eget_auto1(&found, &found_data) >= 0);
  CHECK(found == first);
  CHECK(found_data == &mark);
  REQUIRE(H5Eset_auto2(H5E_DEFAULT, second, data) >= 0);
}

TEST_CASE("native view: view=off leaves nothing that stock HDF5 opens", "[vol][view]") {
  const WorkFolder folder;
  const auto values = write_container("view=off");
  CHECK_FALSE(is_native());
  CHECK(read(open_bento(H5F_ACC_RDONLY)) == values);

  SECTION("and it can be built afterwards") {
    REQUIRE(rebuild_view(kFile));
    CHECK(is_native());
    CHECK(read(open_native(H5F_ACC_RDONLY)) == values);
    CHECK(read(open_bento(H5F_ACC_RDONLY)) == values);
  }
  SECTION("a session with view=off switches an old view off") {
    REQUIRE(rebuild_view(kFile));
    {
      const FileHandle file = open_with(bento_access("view=off"), H5F_ACC_RDWR);
      REQUIRE(file.valid());
      add_attribute(file, "a");
    }
    CHECK_FALSE(is_native());
  }
}

TEST_CASE("native view: a stock open for writing without a change is no edit", "[vol][view]") {
  const WorkFolder folder;
  const auto values = write_container();
  {
    REQUIRE(open_native(H5F_ACC_RDWR).valid());
  }
  const FileHandle file = open_bento(H5F_ACC_RDWR);
  REQUIRE(file.valid());
  CHECK(read(file) == values);
}

TEST_CASE("native view: a change by stock HDF5 is noticed, dropped or taken over", "[vol][view]") {
  const WorkFolder folder;
  const auto values = write_container();
  const bool new_object = GENERATE(true, false);
  {
    const FileHandle stock = open_native(H5F_ACC_RDWR);
    add_attribute(stock, "stock");
    if (new_object) {
      const hsize_t dims[2] = {kRows, kColumns};
      const SpaceHandle space(H5Screate_simple(2, dims, nullptr));
      const DatasetHandle dataset(H5Dcreate2(stock.get(), "e", H5T_STD_I32LE, space.get(),
                                             H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
      REQUIRE(H5Dwrite(dataset.get(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                       numbers(7).data()) >= 0);
    }
  }
  CHECK(read(open_native(H5F_ACC_RDONLY)) == values);

  CHECK_FALSE(open_bento(H5F_ACC_RDWR).valid());
  CHECK_FALSE(rebuild_view(kFile));
  {
    const FileHandle file = open_bento(H5F_ACC_RDONLY);
    REQUIRE(file.valid());
    CHECK(read(file) == values);
    CHECK_FALSE(has_attribute(file, "stock"));
  }

  SECTION("dropped") {
    REQUIRE(drop_edited_view(kFile));
    const FileHandle stock = open_native(H5F_ACC_RDONLY);
    CHECK(read(stock) == values);
    CHECK_FALSE(has_attribute(stock, "stock"));
  }
  SECTION("taken over") {
    const auto taken = take_over_view(kFile);
    CAPTURE(taken ? std::string() : taken.error().text);
    REQUIRE(taken);
    for (const bool native : {true, false}) {
      const FileHandle file = native ? open_native(H5F_ACC_RDONLY) : open_bento(H5F_ACC_RDWR);
      CAPTURE(native);
      REQUIRE(file.valid());
      CHECK(read(file) == values);
      CHECK(has_attribute(file, "stock"));
      if (new_object) CHECK(read(file, "e") == numbers(7));
    }
  }
  REQUIRE(open_bento(H5F_ACC_RDWR).valid());
}

TEST_CASE("native view: data overwritten in place can only be taken over", "[vol][view]") {
  const WorkFolder folder;
  write_container();
  {
    const FileHandle stock = open_native(H5F_ACC_RDWR);
    const DatasetHandle dataset(H5Dopen2(stock.get(), "d", H5P_DEFAULT));
    REQUIRE(H5Dwrite(dataset.get(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                     numbers(3).data()) >= 0);
    add_attribute(stock, "stock");
  }
  const auto dropped = drop_edited_view(kFile);
  REQUIRE_FALSE(dropped);
  CHECK(dropped.error().code == Code::kCorrupt);
  CHECK_THAT(dropped.error().text, ContainsSubstring("taken over"));
  REQUIRE(take_over_view(kFile));
  CHECK(read(open_native(H5F_ACC_RDONLY)) == numbers(3));
  CHECK(read(open_bento(H5F_ACC_RDONLY)) == numbers(3));
}

TEST_CASE("native view: what it has no place for is in what is taken over", "[vol][view]") {
  const WorkFolder folder;
  const auto values = write_container("view_maps=1;view_copy=1");
  auto others = numbers(9);
  {
    const FileHandle file = open_with(bento_access("view_maps=1;view_copy=1"), H5F_ACC_RDWR);
    const GroupHandle group(H5Gcreate2(file.get(), "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    REQUIRE(H5Lcreate_hard(file.get(), "d", group.get(), "same", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    // Another one of two boxes, which has no place either.
    REQUIRE(H5Ocopy(file.get(), "d", file.get(), "other", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    const DatasetHandle other(H5Dopen2(file.get(), "other", H5P_DEFAULT));
    REQUIRE(H5Dwrite(other.get(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, others.data()) >=
            0);
    write_patch(other.get(), others);
  }
  REQUIRE(view_notes(kFile)->size() == 2);
  {
    const FileHandle stock = open_native(H5F_ACC_RDWR);
    add_attribute(stock, "stock");
  }
  SECTION("copied from what is committed") {
    const auto taken = take_over_view(kFile);
    CAPTURE(taken ? std::string() : taken.error().text);
    REQUIRE(taken);
    CHECK(taken->empty());
    const FileHandle file = open_bento(H5F_ACC_RDONLY);
    CHECK(has_attribute(file, "stock"));
    CHECK(read(file) == values);
    CHECK(read(file, "g/same") == values);
    H5O_info2_t info{};
    REQUIRE(H5Oget_info_by_name3(file.get(), "d", &info, H5O_INFO_BASIC, H5P_DEFAULT) >= 0);
    CHECK(info.rc == 2);
  }
  SECTION("under the names that they have now") {
    {
      const FileHandle stock = open_native(H5F_ACC_RDWR);
      REQUIRE(H5Lmove(stock.get(), "d", stock.get(), "renamed", H5P_DEFAULT, H5P_DEFAULT) >= 0);
      REQUIRE(H5Lmove(stock.get(), "other", stock.get(), "d", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    }
    const auto taken = take_over_view(kFile);
    CAPTURE(taken ? std::string() : taken.error().text);
    REQUIRE(taken);
    const FileHandle file = open_bento(H5F_ACC_RDONLY);
    CHECK(read(file, "renamed") == values);
    CHECK(read(file, "g/same") == values);
    CHECK(read(file, "d") == others);
    CHECK(H5Lexists(file.get(), "other", H5P_DEFAULT) == 0);
  }
  SECTION("given up only if that is said, where the link does not tell which") {
    {
      const FileHandle stock = open_native(H5F_ACC_RDWR);
      REQUIRE(H5Ldelete(stock.get(), "d", H5P_DEFAULT) >= 0);
      REQUIRE(H5Lcreate_soft("/.h5bento/not in this view: of an older version", stock.get(), "d",
                             H5P_DEFAULT, H5P_DEFAULT) >= 0);
    }
    const auto refused = take_over_view(kFile);
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().text, ContainsSubstring("'/d'") && ContainsSubstring("--force"));
    CHECK(read(open_bento(H5F_ACC_RDONLY)) == values);
    const auto taken = take_over_view(kFile, TakeOver::kAnyway);
    REQUIRE(taken);
    REQUIRE(taken->size() == 1);
    CHECK_THAT(taken->front(), ContainsSubstring("'/d'"));
    CHECK(read(open_bento(H5F_ACC_RDONLY), "g/same") == values);
  }
}

TEST_CASE("native view: what it has no place for loses references only if that is said",
          "[vol][view]") {
  const WorkFolder folder;
  const auto values = write_container("view_maps=1;view_copy=1");
  {
    const FileHandle file = open_with(bento_access("view_maps=1;view_copy=1"), H5F_ACC_RDWR);
    const DatasetHandle dataset(H5Dopen2(file.get(), "d", H5P_DEFAULT));
    const SpaceHandle one(H5Screate(H5S_SCALAR));
    const AttributeHandle attribute(
        H5Acreate2(dataset.get(), "leads", H5T_STD_REF_OBJ, one.get(), H5P_DEFAULT, H5P_DEFAULT));
    hobj_ref_t reference = 0;
    REQUIRE(H5Rcreate(&reference, file.get(), "/", H5R_OBJECT, -1) >= 0);
    REQUIRE(H5Awrite(attribute.get(), H5T_STD_REF_OBJ, &reference) >= 0);
  }
  {
    const FileHandle stock = open_native(H5F_ACC_RDWR);
    add_attribute(stock, "stock");
  }
  const auto refused = take_over_view(kFile);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().text, ContainsSubstring("'/d'") && ContainsSubstring("'leads'") &&
                                       ContainsSubstring("--force"));
  const auto taken = take_over_view(kFile, TakeOver::kAnyway);
  REQUIRE(taken);
  REQUIRE(taken->size() == 1);
  CHECK_THAT(taken->front(), ContainsSubstring("'leads'"));
  CHECK(read(open_bento(H5F_ACC_RDONLY)) == values);
}

TEST_CASE("native view: what nobody wrote is not written by a take-over; name and checksums stay",
          "[vol][view]") {
  const WorkFolder folder;
  const hsize_t dims[2] = {1u << 20, 1u << 14};  // 64 GiB
  const hsize_t count[2] = {100, 100};
  const bool chunked = GENERATE(false, true);
  const std::vector<int> values(100 * 100, 7);
  const auto space_of_box = [&] {
    SpaceHandle space(H5Screate_simple(2, dims, nullptr));
    const hsize_t start[2] = {5000, 5000};
    H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start, nullptr, count, nullptr);
    return space;
  };
  const SpaceHandle memory(H5Screate_simple(2, count, nullptr));
  {
    const FileHandle file(
        H5Fcreate(kFile, H5F_ACC_TRUNC, H5P_DEFAULT, bento_access("checksum=md5").get()));
    const SpaceHandle space(H5Screate_simple(2, dims, nullptr));
    const PlistHandle list(H5Pcreate(H5P_DATASET_CREATE));
    if (chunked) H5Pset_chunk(list.get(), 2, count);
    const DatasetHandle dataset(H5Dcreate2(file.get(), "d", H5T_STD_I32LE, space.get(), H5P_DEFAULT,
                                           list.get(), H5P_DEFAULT));
    REQUIRE(H5Dwrite(dataset.get(), H5T_NATIVE_INT, memory.get(), space_of_box().get(), H5P_DEFAULT,
                     values.data()) >= 0);
  }
  const auto called = [] { return name_in(**open_posix_file(kFile, OpenMode::kRead)).value(); };
  const std::string name = called();
  {
    const FileHandle stock = open_native(H5F_ACC_RDWR);
    add_attribute(stock, "stock");
  }
  const auto taken = take_over_view(kFile);
  CAPTURE(taken ? std::string() : taken.error().text);
  REQUIRE(taken);
  struct stat about{};
  REQUIRE(::stat(kFile, &about) == 0);
  CHECK(about.st_blocks * 512 < 8 << 20);
  CHECK(called() == name);
  const auto container = Container::open(kFile, false, {}, make_self_communicator());
  CHECK((*container)->root().record_hash() == fti::HashKind::kMd5);
  const FileHandle file = open_bento(H5F_ACC_RDONLY);
  CHECK(has_attribute(file, "stock"));
  const DatasetHandle dataset(H5Dopen2(file.get(), "d", H5P_DEFAULT));
  std::vector<int> found(values.size());
  REQUIRE(H5Dread(dataset.get(), H5T_NATIVE_INT, memory.get(), space_of_box().get(), H5P_DEFAULT,
                  found.data()) >= 0);
  CHECK(found == values);
}

TEST_CASE("native view: a dataset in too many pieces is copied, or its link fails", "[vol][view]") {
  const WorkFolder folder;
  SECTION("copied") {
    const auto values = write_container("view_maps=1");
    CHECK(view_notes(kFile)->empty());
    CHECK(read(open_native(H5F_ACC_RDONLY)) == values);
  }
  SECTION("absent") {
    const auto values = write_container("view_maps=1;view_copy=1");
    const auto notes = view_notes(kFile);
    REQUIRE(notes);
    REQUIRE(notes->size() == 1);
    CHECK_THAT(notes->front(), ContainsSubstring("'/d'") && ContainsSubstring("view_copy="));
    const FileHandle stock = open_native(H5F_ACC_RDONLY);
    REQUIRE(stock.valid());
    H5E_BEGIN_TRY {
      CHECK(read(stock).empty());
    }
    H5E_END_TRY
    H5L_info2_t info{};
    REQUIRE(H5Lget_info2(stock.get(), "d", &info, H5P_DEFAULT) >= 0);
    REQUIRE(info.type == H5L_TYPE_SOFT);
    std::string target(info.u.val_size, '\0');
    REQUIRE(H5Lget_val(stock.get(), "d", target.data(), target.size(), H5P_DEFAULT) >= 0);
    CHECK_THAT(target, ContainsSubstring("view_copy="));
    CHECK(read(open_bento(H5F_ACC_RDONLY)) == values);
  }
}

/// A filter that changes nothing, and counts how often it is asked to decode.
constexpr H5Z_filter_t kCountingFilter = 300;
int decoded = 0;
std::size_t count_decoding(unsigned flags, std::size_t, const unsigned*, std::size_t bytes,
                           std::size_t*, void**) {
  decoded += (flags & H5Z_FLAG_REVERSE) != 0 ? 1 : 0;
  return bytes;
}

TEST_CASE("native view: a copy decodes each filtered chunk once, however many pieces it shows",
          "[vol][view]") {
  const WorkFolder folder;
  const H5Z_class2_t filter{H5Z_CLASS_T_VERS, kCountingFilter, 1,       1,
                            "counting",       nullptr,         nullptr, count_decoding};
  REQUIRE(H5Zregister(&filter) >= 0);
  constexpr hsize_t kElements = 40000;  // more bytes than are copied as a whole
  constexpr hsize_t kOverwritten = 30;
  std::vector<int> values(kElements);
  std::iota(values.begin(), values.end(), 1);
  {
    FileHandle file(
        H5Fcreate(kFile, H5F_ACC_TRUNC, H5P_DEFAULT, bento_access("view_maps=8").get()));
    const SpaceHandle space(H5Screate_simple(1, &kElements, nullptr));
    const PlistHandle list(H5Pcreate(H5P_DATASET_CREATE));
    REQUIRE(H5Pset_chunk(list.get(), 1, &kElements) >= 0);
    REQUIRE(H5Pset_filter(list.get(), kCountingFilter, 0, 0, nullptr) >= 0);
    DatasetHandle dataset(H5Dcreate2(file.get(), "d", H5T_STD_I32LE, space.get(), H5P_DEFAULT,
                                     list.get(), H5P_DEFAULT));
    REQUIRE(H5Dwrite(dataset.get(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >=
            0);
    REQUIRE(H5Fflush(file.get(), H5F_SCOPE_GLOBAL) >= 0);
    const SpaceHandle one(H5Screate(H5S_SCALAR));
    for (hsize_t i = 0; i < kOverwritten; ++i) {
      const hsize_t at = 1000 * i + 7;
      values[at] = -static_cast<int>(at);
      REQUIRE(H5Sselect_elements(space.get(), H5S_SELECT_SET, 1, &at) >= 0);
      REQUIRE(H5Dwrite(dataset.get(), H5T_NATIVE_INT, one.get(), space.get(), H5P_DEFAULT,
                       &values[at]) >= 0);
    }
    dataset.reset();
    decoded = 0;
    file.reset();
    CHECK(decoded > 0);
    CHECK(decoded <= 2);
  }
  const FileHandle stock = open_native(H5F_ACC_RDONLY);
  const DatasetHandle dataset(H5Dopen2(stock.get(), "d", H5P_DEFAULT));
  std::vector<int> back(kElements);
  REQUIRE(H5Dread(dataset.get(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back.data()) >= 0);
  CHECK(back == values);
}

/// A program that commits once, writes on, and is gone.
void die_after_commit(bool first_session) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const FileHandle file =
        first_session
            ? FileHandle(H5Fcreate(kFile, H5F_ACC_TRUNC, H5P_DEFAULT, bento_access().get()))
            : open_bento(H5F_ACC_RDWR);
    const hsize_t dims[2] = {kRows, kColumns};
    const SpaceHandle space(H5Screate_simple(2, dims, nullptr));
    const DatasetHandle dataset(first_session
                                    ? H5Dcreate2(file.get(), "d", H5T_STD_I32LE, space.get(),
                                                 H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)
                                    : H5Dopen2(file.get(), "d", H5P_DEFAULT));
    bool good = true;
    for (const int first : {1000, 2000}) {
      good = good && H5Dwrite(dataset.get(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                              numbers(first).data()) >= 0;
      if (first == 1000) good = good && H5Fflush(file.get(), H5F_SCOPE_GLOBAL) >= 0;
    }
    _exit(good ? 0 : 1);  // no destructor, no handler, no close
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
}

TEST_CASE("recovery: a dead program's container gets its native view", "[vol][view][recovery]") {
  const WorkFolder folder;
  const bool first_session = GENERATE(true, false);
  if (!first_session) write_container();
  die_after_commit(first_session);
  CHECK(read(open_bento(H5F_ACC_RDONLY)) == numbers(1000));
  if (first_session)
    CHECK_FALSE(is_native());
  else
    CHECK(read(open_native(H5F_ACC_RDONLY)) != numbers(1000));  // the view of the last close

  const auto report = recover_container(kFile);
  CAPTURE(report ? std::string() : report.error().text);
  REQUIRE(report);
  CHECK(report->step == (first_session ? 1 : 2));
  CHECK_FALSE(report->was_closed);
  CHECK(report->sound());
  CHECK(report->notes.empty());
  REQUIRE(report->lost.size() == 1);
  CHECK(report->lost[0].bytes == kRows * kColumns * 4);
  CHECK(report->lost[0].file.ends_with(std::string("/") + kFile));
  CHECK(read(open_native(H5F_ACC_RDONLY)) == numbers(1000));
  CHECK(read(open_bento(H5F_ACC_RDWR)) == numbers(1000));
}

TEST_CASE("native view: a virtual dataset of the user's own over another container",
          "[vol][view]") {
  const WorkFolder folder;
  write_container();
  REQUIRE(std::rename(kFile, "source.h5") == 0);
  {
    // Its extent is asked from the source when the view is built.
    const FileHandle file(H5Fcreate(kFile, H5F_ACC_TRUNC, H5P_DEFAULT, bento_access().get()));
    const hsize_t dims[2] = {kRows, kColumns};
    const hsize_t unlimited[2] = {H5S_UNLIMITED, kColumns};
    const SpaceHandle space(H5Screate_simple(2, dims, unlimited));
    const SpaceHandle source(H5Screate_simple(2, dims, unlimited));
    const hsize_t start[2] = {0, 0};
    const hsize_t count[2] = {H5S_UNLIMITED, 1};
    const hsize_t block[2] = {1, kColumns};
    REQUIRE(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start, nullptr, count, block) >= 0);
    REQUIRE(H5Sselect_hyperslab(source.get(), H5S_SELECT_SET, start, nullptr, count, block) >= 0);
    const PlistHandle list(H5Pcreate(H5P_DATASET_CREATE));
    REQUIRE(H5Pset_virtual(list.get(), space.get(), "source.h5", "d", source.get()) >= 0);
    REQUIRE(DatasetHandle(H5Dcreate2(file.get(), "v", H5T_STD_I32LE, space.get(), H5P_DEFAULT,
                                     list.get(), H5P_DEFAULT))
                .valid());
  }
  const FileHandle stock = open_native(H5F_ACC_RDONLY);
  REQUIRE(stock.valid());
  CHECK(read(stock, "v").size() == kRows * kColumns);
}

TEST_CASE("deleted datasets leave the index at close", "[vol][view]") {
  const WorkFolder folder;
  write_container();
  const bool counted = GENERATE(false, true);
  {
    const FileHandle file = open_bento(H5F_ACC_RDWR);
    REQUIRE(file.valid());
    REQUIRE(H5Lcreate_hard(file.get(), "d", file.get(), "second", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    REQUIRE(H5Ldelete(file.get(), "d", H5P_DEFAULT) >= 0);
  }
  const auto datasets = [] {
    const auto container = Container::open(kFile, false, {}, make_self_communicator());
    REQUIRE(container);
    return (*container)->datasets().size();
  };
  CHECK(datasets() == 1);  // it has another link
  {
    const FileHandle file = open_bento(H5F_ACC_RDWR);
    if (counted) {
      const DatasetHandle dataset(H5Dopen2(file.get(), "second", H5P_DEFAULT));
      REQUIRE(H5Oincr_refcount(dataset.get()) >= 0);
    }
    REQUIRE(H5Ldelete(file.get(), "second", H5P_DEFAULT) >= 0);
  }
  CHECK(datasets() == (counted ? 1 : 0));
  CHECK(open_native(H5F_ACC_RDONLY).valid());
}

TEST_CASE("native view: its group's name is reserved at the root only", "[vol][view]") {
  const WorkFolder folder;
  const FileHandle file(H5Fcreate(kFile, H5F_ACC_TRUNC, H5P_DEFAULT, bento_access().get()));
  const auto made = [](hid_t at, const char* name) {
    GroupHandle group;
    H5E_BEGIN_TRY {
      group = GroupHandle(H5Gcreate2(at, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    }
    H5E_END_TRY
    return group.valid();
  };
  const GroupHandle root(H5Gopen2(file.get(), "/", H5P_DEFAULT));
  const GroupHandle inner(H5Gcreate2(file.get(), "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  for (const char* const name : {".h5bento", "/.h5bento", "./.h5bento", ".h5bento/x"}) {
    CAPTURE(name);
    CHECK_FALSE(made(file.get(), name));
    CHECK_FALSE(made(root.get(), name));
  }
  CHECK_FALSE(made(inner.get(), "/.h5bento"));
  CHECK(made(inner.get(), ".h5bento"));
  CHECK(made(file.get(), ".h5bento2"));
  H5E_BEGIN_TRY {
    CHECK(H5Lcreate_soft("/g", file.get(), ".h5bento", H5P_DEFAULT, H5P_DEFAULT) < 0);
    CHECK(H5Lmove(file.get(), "g", file.get(), ".h5bento", H5P_DEFAULT, H5P_DEFAULT) < 0);
  }
  H5E_END_TRY
}

// HDF5 makes such a reference, and dies of asking for its region.
TEST_CASE("native view: a region of a group is null in it", "[vol][view]") {
  const WorkFolder folder;
  const hsize_t one = 1;
  const SpaceHandle space(H5Screate_simple(1, &one, nullptr));
  {
    const FileHandle file(H5Fcreate(kFile, H5F_ACC_TRUNC, H5P_DEFAULT, bento_access().get()));
    const GroupHandle group(H5Gcreate2(file.get(), "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    const DatasetHandle dataset(H5Dcreate2(file.get(), "d", H5T_STD_REF, space.get(), H5P_DEFAULT,
                                           H5P_DEFAULT, H5P_DEFAULT));
    H5R_ref_t reference;
    REQUIRE(H5Rcreate_region(file.get(), "g", space.get(), H5P_DEFAULT, &reference) >= 0);
    REQUIRE(H5Dwrite(dataset.get(), H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, &reference) >= 0);
    H5Rdestroy(&reference);
  }
  const FileHandle file = open_native(H5F_ACC_RDONLY);
  const DatasetHandle dataset(H5Dopen2(file.get(), "d", H5P_DEFAULT));
  H5R_ref_t read;
  std::memset(&read, 1, sizeof read);
  REQUIRE(H5Dread(dataset.get(), H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, &read) >= 0);
  const H5R_ref_t null{};
  CHECK(std::memcmp(&read, &null, sizeof null) == 0);
}

// A reference outlives its dataset, whose place another one takes.
TEST_CASE("native view: a region of a dataset with other dimensions is null in it", "[vol][view]") {
  const WorkFolder folder;
  const hsize_t one = 1;
  const hsize_t dims[3] = {4, 5, 6};
  const SpaceHandle space(H5Screate_simple(1, &one, nullptr));
  const SpaceHandle plane(H5Screate_simple(2, dims, nullptr));
  const SpaceHandle body(H5Screate_simple(3, dims, nullptr));
  const int wanted = GENERATE(2, 3);
  {
    const FileHandle file(H5Fcreate(kFile, H5F_ACC_TRUNC, H5P_DEFAULT, bento_access().get()));
    const DatasetHandle dataset(H5Dcreate2(file.get(), "d", H5T_STD_REF, space.get(), H5P_DEFAULT,
                                           H5P_DEFAULT, H5P_DEFAULT));
    DatasetHandle(H5Dcreate2(file.get(), "target", H5T_STD_I32LE,
                             wanted == 2 ? plane.get() : body.get(), H5P_DEFAULT, H5P_DEFAULT,
                             H5P_DEFAULT));
    const hsize_t count[2] = {2, 3};
    REQUIRE(H5Sselect_hyperslab(plane.get(), H5S_SELECT_SET, std::array<hsize_t, 2>{1, 1}.data(),
                                nullptr, count, nullptr) >= 0);
    H5R_ref_t reference;
    REQUIRE(H5Rcreate_region(file.get(), "target", plane.get(), H5P_DEFAULT, &reference) >= 0);
    REQUIRE(H5Dwrite(dataset.get(), H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, &reference) >= 0);
    H5Rdestroy(&reference);
  }
  const FileHandle file = open_native(H5F_ACC_RDONLY);
  const DatasetHandle dataset(H5Dopen2(file.get(), "d", H5P_DEFAULT));
  H5R_ref_t read{};
  REQUIRE(H5Dread(dataset.get(), H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, &read) >= 0);
  const H5R_ref_t null{};
  CHECK((std::memcmp(&read, &null, sizeof null) == 0) == (wanted == 3));
  if (wanted != 2) return;
  const SpaceHandle region(H5Ropen_region(&read, H5P_DEFAULT, H5P_DEFAULT));
  CHECK(H5Sget_select_npoints(region.get()) == 6);
  H5Rdestroy(&read);
}

// HDF5 leaves the type of the dataset at the file that was read last, which is closed by then, and
// converts the fill value with it when it is asked for the creation list.
TEST_CASE("a dataset of variable length that was read through another open of its file", "[vol]") {
  const WorkFolder folder;
  const FileHandle file(H5Fcreate(kFile, H5F_ACC_TRUNC, H5P_DEFAULT, bento_access().get()));
  const TypeHandle text(H5Tcopy(H5T_C_S1));
  REQUIRE(H5Tset_size(text.get(), H5T_VARIABLE) >= 0);
  const char* const fill = "fill";
  const PlistHandle list(H5Pcreate(H5P_DATASET_CREATE));
  REQUIRE(H5Pset_fill_value(list.get(), text.get(), &fill) >= 0);
  const hsize_t two = 2;
  const SpaceHandle space(H5Screate_simple(1, &two, nullptr));
  const DatasetHandle first(
      H5Dcreate2(file.get(), "d", text.get(), space.get(), H5P_DEFAULT, list.get(), H5P_DEFAULT));
  const auto read_texts = [&](const DatasetHandle& dataset) {
    std::array<char*, 2> values{};
    REQUIRE(H5Dread(dataset.get(), text.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0);
    const std::vector<std::string> texts(values.begin(), values.end());
    H5Dvlen_reclaim(text.get(), space.get(), H5P_DEFAULT, values.data());
    return texts;
  };
  const std::vector<std::string> expected{"fill", "fill"};
  {
    const FileHandle again(H5Freopen(file.get()));
    const DatasetHandle second(H5Dopen2(again.get(), "d", H5P_DEFAULT));
    CHECK(read_texts(second) == expected);
  }
  const GroupHandle takes_the_memory(
      H5Gcreate2(file.get(), "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  const SpaceHandle asked(H5Dget_space(first.get()));
  CHECK(H5Sget_simple_extent_npoints(asked.get()) == 2);
  CHECK(read_texts(first) == expected);
}

}  // namespace
}  // namespace bento::vol
