// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The skeleton driver under the native connector, with a fake host in the connector's place: one
/// file, its life, and its bytes. Links to other files: skeleton_link_test.cpp.
#include "hdf5/skeleton/driver.hpp"
#include "hdf5/skeleton/open_files.hpp"

#include <cstdlib>
#include <fstream>

#include <fcntl.h>
#include <unistd.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/vol/skeleton_support.hpp"

using namespace bento;
using namespace bento::vol;
using namespace bento::vol::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("skeleton: a file is written, finalised once and read again", "[vol][skeleton]") {
  const WorkFolder folder;
  auto host = FakeHost::create("a.h5");
  {
    const FileHandle file = create_file(host);
    REQUIRE(file.valid());
    CHECK_FALSE(host->armed);
    host->armed = true;
    fill_file(file.get(), 1);
    CHECK(host->finalised == 0);
    CHECK(host->open_handles == 1);
  }
  CHECK(host->finalised == 1);
  CHECK(host->open_handles == 0);
  CHECK_FALSE(host->armed);

  host = FakeHost::open("a.h5", false);
  {
    const FileHandle file = open_file(host, H5F_ACC_RDONLY);
    REQUIRE(file.valid());
    host->armed = true;
    CHECK(is_filled(file.get(), 1));
  }
  CHECK(host->finalised == 1);
  CHECK_FALSE(host->image().any_dirty());
}

TEST_CASE("skeleton: a tentative open changes nothing and an unarmed host is not finalised",
          "[vol][skeleton]") {
  const WorkFolder folder;
  auto host = FakeHost::create("a.h5");
  {
    const FileHandle file = create_file(host);
    fill_file(file.get(), 1);
  }
  CHECK(host->finalised == 0);
  CHECK(host->image().size() > 0);
  const std::vector<std::byte> before(host->image().bytes().begin(), host->image().bytes().end());

  SECTION("when EXCL refuses the real open after the tentative one") {
    // The library opens without EXCL first; then the driver would see the flags. The name is taken.
    const FileHandle first = open_file(host, H5F_ACC_RDWR);
    const Quiet quiet;
    CHECK_FALSE(FileHandle(H5Fcreate("a.h5", H5F_ACC_EXCL, H5P_DEFAULT, skeleton_list(host).get()))
                    .valid());
    CHECK_FALSE(FileHandle(H5Fcreate("a.h5", H5F_ACC_TRUNC, H5P_DEFAULT, skeleton_list(host).get()))
                    .valid());
    CHECK(is_filled(first.get(), 1));
  }
  SECTION("when it is only opened and closed") {
    const FileHandle file = open_file(host, H5F_ACC_RDWR);
    CHECK(file.valid());
  }
  CHECK(std::equal(before.begin(), before.end(), host->image().bytes().begin(),
                   host->image().bytes().end()));
  CHECK(host->finalised == 0);

  SECTION("when the real open truncates, the image is empty") {
    const FileHandle file = create_file(host);
    REQUIRE(file.valid());
    CHECK(H5Lexists(file.get(), "group", H5P_DEFAULT) == 0);
  }
}

TEST_CASE("skeleton: two opens of one host are one file", "[vol][skeleton]") {
  const WorkFolder folder;
  const auto host = FakeHost::create("a.h5");
  FileHandle first = create_file(host);
  host->armed = true;
  fill_file(first.get(), 2);
  FileHandle second = open_file(host, H5F_ACC_RDWR);
  REQUIRE(second.valid());
  CHECK(file_number(first.get()) == file_number(second.get()));
  CHECK(host->open_handles == 1);
  CHECK(is_filled(second.get(), 2));  // not flushed, so it is the same file in memory
  CHECK(host_of_fileno(file_number(second.get())) == host);
  CHECK(host_of_identity(host->identity()) == host);
  first.reset();
  CHECK(host->finalised == 0);
  second.reset();
  CHECK(host->finalised == 1);
  CHECK(host_of_identity(host->identity()) == nullptr);
  CHECK(host_of_fileno(0) == nullptr);
}

TEST_CASE("skeleton: weak close finalises when the last object goes", "[vol][skeleton]") {
  const WorkFolder folder;
  const auto host = FakeHost::create("a.h5");
  FileHandle file = create_file(host);
  host->armed = true;
  const hid_t group = H5Gcreate2(file.get(), "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  file.reset();
  CHECK(host->finalised == 0);
  H5Gclose(group);
  CHECK(host->finalised == 1);
}

TEST_CASE("skeleton: after a flush the image is a valid HDF5 file", "[vol][skeleton]") {
  const WorkFolder folder;
  const auto host = FakeHost::create("a.h5");
  const FileHandle file = create_file(host);
  host->armed = true;
  for (int round = 0; round < 3; ++round) {
    fill_file(file.get(), round, "round" + std::to_string(round));
    REQUIRE(H5Fflush(file.get(), H5F_SCOPE_GLOBAL) >= 0);
    const auto bytes = host->image().bytes();
    std::ofstream("plain.h5", std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    const PlistHandle sec2(H5Pcreate(H5P_FILE_ACCESS));
    H5Pset_fapl_sec2(sec2.get());
    const FileHandle plain(H5Fopen("plain.h5", H5F_ACC_RDWR, sec2.get()));
    REQUIRE(plain.valid());
    for (int done = 0; done <= round; ++done)
      CHECK(is_filled(plain.get(), done, "round" + std::to_string(done)));
  }
  if (std::system("command -v h5dump >/dev/null 2>&1") == 0)
    CHECK(std::system("h5dump plain.h5 >dump.txt 2>&1") == 0);
}

TEST_CASE("skeleton: an unchanged reopened file leaves every page clean", "[vol][skeleton]") {
  const WorkFolder folder;
  {
    const auto host = FakeHost::create("a.h5");
    const FileHandle file = create_file(host);
    host->armed = true;
    fill_file(file.get(), 3);
  }
  const auto host = FakeHost::open("a.h5", true);
  const FileHandle file = open_file(host, H5F_ACC_RDWR);
  CHECK(is_filled(file.get(), 3));
  REQUIRE(H5Fflush(file.get(), H5F_SCOPE_GLOBAL) >= 0);
  CHECK_FALSE(host->image().any_dirty());
}

TEST_CASE("skeleton: no status flags, and features that keep raw data out", "[vol][skeleton]") {
  const WorkFolder folder;
  unsigned long flags = 0;
  REQUIRE(H5FDdriver_query(skeleton_driver(), &flags) >= 0);
  CHECK((flags & (H5FD_FEAT_HAS_MPI | H5FD_FEAT_ALLOCATE_EARLY)) == 0);

  const auto host = FakeHost::create("a.h5");
  const PlistHandle list = skeleton_list(host);
  H5Pset_libver_bounds(list.get(), H5F_LIBVER_LATEST,
                       H5F_LIBVER_LATEST);  // superblock version 3 has the flags
  const FileHandle file(H5Fcreate("a.h5", H5F_ACC_TRUNC, H5P_DEFAULT, list.get()));
  REQUIRE(file.valid());
  H5Fflush(file.get(), H5F_SCOPE_GLOBAL);
  CHECK(host->image().bytes()[8] == std::byte{3});
  CHECK(host->image().bytes()[11] == std::byte{0});

  // An allocation at creation would be there if the driver had one of those features.
  const hsize_t many = 1u << 20;
  const SpaceHandle space(H5Screate_simple(1, &many, nullptr));
  const hid_t dataset = H5Dcreate2(file.get(), "d", H5T_NATIVE_DOUBLE, space.get(), H5P_DEFAULT,
                                   H5P_DEFAULT, H5P_DEFAULT);
  CHECK(H5Dget_storage_size(dataset) == 0);
  H5Dclose(dataset);
}

TEST_CASE("skeleton: the handle is the container's descriptor", "[vol][skeleton]") {
  const WorkFolder folder;
  const auto host = FakeHost::create("a.h5");
  const FileHandle file = create_file(host);
  void* handle = nullptr;
  REQUIRE(H5Fget_vfd_handle(file.get(), H5P_DEFAULT, &handle) >= 0);
  CHECK(*static_cast<int*>(handle) == host->descriptor());
}

TEST_CASE("skeleton: a host for reading refuses writes", "[vol][skeleton]") {
  const WorkFolder folder;
  {
    const auto host = FakeHost::create("a.h5");
    const FileHandle file = create_file(host);
    host->armed = true;
    fill_file(file.get(), 1);
  }
  const auto host = FakeHost::open("a.h5", false);
  {
    const Quiet quiet;
    CHECK_FALSE(open_file(host, H5F_ACC_RDWR).valid());
    CHECK_THAT(error_texts(), ContainsSubstring("can only be read here"));
  }
  FileHandle reader = open_file(host, H5F_ACC_RDONLY);
  CHECK(is_filled(reader.get(), 1));
  const Quiet quiet;
  CHECK_FALSE(open_file(host, H5F_ACC_RDWR).valid());
  CHECK_THAT(error_texts(), ContainsSubstring("already open for read-only"));
  CHECK(is_filled(reader.get(), 1));
  reader.reset();
  CHECK_FALSE(host->image().any_dirty());
}

TEST_CASE("skeleton: a failing finalise makes the close fail and says why", "[vol][skeleton]") {
  const WorkFolder folder;
  const auto host = FakeHost::create("a.h5");
  FileHandle file = create_file(host);
  host->armed = true;
  host->failure = fail(Code::kNoSpace, "commit of 'a.h5' failed: errno = 28");
  const Quiet quiet;
  CHECK(H5Fclose(file.release()) < 0);
  CHECK_THAT(error_texts(), ContainsSubstring("commit of 'a.h5' failed: errno = 28"));
  CHECK(host->finalised == 1);
  CHECK(host->open_handles == 0);
}

TEST_CASE("skeleton: without a host the driver refuses", "[vol][skeleton]") {
  const WorkFolder folder;
  const PlistHandle list(H5Pcreate(H5P_FILE_ACCESS));
  REQUIRE(H5Pset_driver(list.get(), skeleton_driver(), nullptr) >= 0);
  const Quiet quiet;
  CHECK_FALSE(FileHandle(H5Fcreate("a.h5", H5F_ACC_TRUNC, H5P_DEFAULT, list.get())).valid());
  CHECK_THAT(error_texts(), ContainsSubstring("by the bento connector only"));
}

TEST_CASE("skeleton: lists keep the host alive, and let it go", "[vol][skeleton]") {
  const WorkFolder folder;
  auto host = FakeHost::create("a.h5");
  const std::weak_ptr<FakeHost> watch = host;
  PlistHandle list = skeleton_list(host);
  PlistHandle copy(H5Pcopy(list.get()));
  FileHandle file(H5Fcreate("a.h5", H5F_ACC_TRUNC, H5P_DEFAULT, list.get()));
  PlistHandle shown(H5Fget_access_plist(file.get()));
  CHECK(H5Pget_driver(shown.get()) == skeleton_driver());
  host.reset();
  file.reset();
  list.reset();
  copy.reset();
  CHECK_FALSE(watch.expired());
  shown.reset();
  CHECK(watch.expired());
}
