// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Files that the native library reaches from a skeleton by itself: external links and virtual
/// sources.
#include <filesystem>
#include <fstream>
#include <map>

#include <H5FDdevelop.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "hdf5/skeleton/driver.hpp"
#include "hdf5/skeleton/open_files.hpp"
#include "hdf5/skeleton/plain_file.hpp"
#include "tests/vol/skeleton_support.hpp"

using namespace bento;
using namespace bento::vol;
using namespace bento::vol::test;
using Catch::Matchers::ContainsSubstring;

namespace {

/// The hook for one test: opens fake containers and remembers them.
class Opener {
 public:
  explicit Opener(bool writable = true) {
    set_foreign_opener(
        [this, writable](
            const std::string& name, unsigned flags,
            const std::shared_ptr<SkeletonHost>&) -> Result<std::shared_ptr<SkeletonHost>> {
          ++calls;
          if (not_ours) return std::shared_ptr<SkeletonHost>{};
          last = FakeHost::open(name, writable && (flags & H5F_ACC_RDWR) != 0);
          return std::shared_ptr<SkeletonHost>(last);
        });
  }
  ~Opener() { set_foreign_opener(nullptr); }
  Opener(const Opener&) = delete;
  Opener& operator=(const Opener&) = delete;

  int calls = 0;
  bool not_ours = false;
  std::shared_ptr<FakeHost> last;
};

PlistHandle sec2_list() {
  PlistHandle list(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_fapl_sec2(list.get());
  return list;
}

void make_plain(const char* name, int seed, hsize_t user_block = 0) {
  const PlistHandle creation(H5Pcreate(H5P_FILE_CREATE));
  H5Pset_userblock(creation.get(), user_block);
  const FileHandle file(H5Fcreate(name, H5F_ACC_TRUNC, creation.get(), sec2_list().get()));
  fill_file(file.get(), seed);
}

void make_container(const std::string& name, int seed) {
  const auto host = FakeHost::create(name);
  const FileHandle file = create_file(host);
  host->armed = true;
  fill_file(file.get(), seed);
}

/// An armed, writable container "a.h5" with a link "other" to `target`.
struct Linked {
  explicit Linked(const char* target) : host(FakeHost::create("a.h5")), file(create_file(host)) {
    host->armed = true;
    H5Lcreate_external(target, "/", file.get(), "other", H5P_DEFAULT, H5P_DEFAULT);
  }
  std::shared_ptr<FakeHost> host;
  FileHandle file;
};

}  // namespace

TEST_CASE("skeleton: a link to an ordinary file goes through sec2", "[vol][skeleton]") {
  const WorkFolder folder;
  const Opener opener;
  make_plain("plain.h5", 7);
  {
    const Linked a("plain.h5");
    CHECK(is_filled(a.file.get(), 7, "other/group"));
    fill_file(a.file.get(), 8, "other/more");
    CHECK(is_filled(a.file.get(), 8, "other/more"));
    CHECK(file_number(a.file.get(), "other/group") != file_number(a.file.get()));
    CHECK(host_of_fileno(file_number(a.file.get(), "other/group")) == nullptr);
    CHECK(H5Lexists(a.file.get(), "more", H5P_DEFAULT) == 0);
  }
  CHECK(opener.calls == 0);
  const FileHandle plain(H5Fopen("plain.h5", H5F_ACC_RDONLY, sec2_list().get()));
  CHECK(is_filled(plain.get(), 8, "more"));
}

TEST_CASE("skeleton: an ordinary file with a user block is reached", "[vol][skeleton]") {
  const WorkFolder folder;
  make_plain("plain.h5", 7, 1024);
  const Linked a("plain.h5");
  CHECK(is_filled(a.file.get(), 7, "other/group"));
  fill_file(a.file.get(), 9, "other/more");
  CHECK(is_filled(a.file.get(), 9, "other/more"));
}

TEST_CASE("skeleton: an ordinary file is one file by whatever name it is reached",
          "[vol][skeleton]") {
  const WorkFolder folder;
  make_plain("plain.h5", 7);
  std::filesystem::create_hard_link("plain.h5", "hard.h5");
  const Linked a("plain.h5");
  H5Lcreate_external("hard.h5", "/", a.file.get(), "hard", H5P_DEFAULT, H5P_DEFAULT);
  const Handle<&H5Gclose> one(H5Gopen2(a.file.get(), "other", H5P_DEFAULT));
  const Handle<&H5Gclose> two(H5Gopen2(a.file.get(), "hard", H5P_DEFAULT));
  REQUIRE(one.valid());
  REQUIRE(two.valid());
  CHECK(file_number(one.get()) == file_number(two.get()));
}

TEST_CASE("skeleton: a missing target fails with its errno", "[vol][skeleton]") {
  const WorkFolder folder;
  const Linked a("absent.h5");
  const Quiet quiet;
  CHECK(H5Gopen2(a.file.get(), "other", H5P_DEFAULT) < 0);
  CHECK_THAT(error_texts(), ContainsSubstring("can't open file"));
  // The last attempt of a direct open shows the record that h5py looks for.
  CHECK_FALSE(open_file(a.host, H5F_ACC_RDONLY, "absent.h5").valid());
  CHECK_THAT(error_texts(),
             ContainsSubstring("errno = 2") && ContainsSubstring("unable to open file"));
}

TEST_CASE("skeleton: a file that somebody holds for writing is not opened through a link",
          "[vol][skeleton]") {
  const WorkFolder folder;
  make_plain("plain.h5", 7);
  const int fd = ::open("plain.h5", O_RDWR);
  REQUIRE(::flock(fd, LOCK_EX | LOCK_NB) == 0);
  {
    const Linked a("plain.h5");
    const Quiet quiet;
    CHECK(H5Gopen2(a.file.get(), "other", H5P_DEFAULT) < 0);
    ::flock(fd, LOCK_UN);
    CHECK(is_filled(a.file.get(), 7, "other/group"));
    ::flock(fd, LOCK_EX | LOCK_NB);
  }
  SECTION("unless locking is off") {
    const auto host = FakeHost::create("b.h5");
    const PlistHandle list = skeleton_list(host);
    H5Pset_file_locking(list.get(), false, true);
    const FileHandle file(H5Fcreate("b.h5", H5F_ACC_TRUNC, H5P_DEFAULT, list.get()));
    H5Lcreate_external("plain.h5", "/", file.get(), "other", H5P_DEFAULT, H5P_DEFAULT);
    CHECK(is_filled(file.get(), 7, "other/group"));
  }
  ::close(fd);
}

TEST_CASE("skeleton: a link to a container goes through the hook", "[vol][skeleton]") {
  const WorkFolder folder;
  make_container("b.h5", 5);
  Opener opener;
  {
    const Linked a("b.h5");
    {
      const Handle<&H5Gclose> held(H5Gopen2(a.file.get(), "other", H5P_DEFAULT));
      REQUIRE(opener.last);
      CHECK(opener.last->armed);
      CHECK(is_filled(a.file.get(), 5, "other/group"));
      fill_file(a.file.get(), 6, "other/more");
      CHECK(opener.calls == 1);
      CHECK(host_of_fileno(file_number(held.get())) == opener.last);
      CHECK(opener.last->finalised == 0);
    }
    CHECK(opener.last->finalised == 1);
    CHECK(a.host->finalised == 0);
  }
  const auto again = FakeHost::open("b.h5", false);
  const FileHandle file = open_file(again, H5F_ACC_RDONLY);
  CHECK(is_filled(file.get(), 6, "more"));
}

TEST_CASE("skeleton: a container that is open already is shared with the link", "[vol][skeleton]") {
  const WorkFolder folder;
  make_container("b.h5", 5);
  const Opener opener;
  const auto b = FakeHost::open("b.h5", true);
  FileHandle direct = open_file(b, H5F_ACC_RDWR);
  b->armed = true;
  std::filesystem::create_symlink("b.h5", "alias.h5");
  const Linked a("alias.h5");
  fill_file(direct.get(), 6, "unflushed");
  {
    const Handle<&H5Gclose> linked(H5Gopen2(a.file.get(), "other", H5P_DEFAULT));
    CHECK(file_number(linked.get()) == file_number(direct.get()));
    CHECK(is_filled(linked.get(), 6, "unflushed"));
    direct.reset();
    CHECK(b->finalised == 0);
  }
  CHECK(b->finalised == 1);
  CHECK(opener.calls == 0);
}

TEST_CASE("skeleton: a link to the own file is no second file", "[vol][skeleton]") {
  const WorkFolder folder;
  const Opener opener;
  for (const char* const target : {"a.h5", "./a.h5"}) {
    const Linked a(target);
    fill_file(a.file.get(), 4);
    CHECK(is_filled(a.file.get(), 4, "other/group"));
    CHECK(file_number(a.file.get(), "other") == file_number(a.file.get()));
    CHECK(opener.calls == 0);
  }
}

TEST_CASE("skeleton: a name that meant the container means another file after a chdir",
          "[vol][skeleton]") {
  const WorkFolder folder;
  const Opener opener;
  std::filesystem::create_directory("sub");
  make_plain("sub/a.h5", 3);
  const Linked a("a.h5");
  std::filesystem::current_path("sub");
  const auto absolute = std::filesystem::absolute("a.h5").string();
  H5Lcreate_external(absolute.c_str(), "/", a.file.get(), "elsewhere", H5P_DEFAULT, H5P_DEFAULT);
  CHECK(is_filled(a.file.get(), 3, "elsewhere/group"));
  std::filesystem::current_path("..");
}

TEST_CASE("skeleton: a link from an ordinary file back to a closed container opens it anew",
          "[vol][skeleton]") {
  const WorkFolder folder;
  make_plain("plain.h5", 7);
  {
    const FileHandle plain(H5Fopen("plain.h5", H5F_ACC_RDWR, sec2_list().get()));
    H5Lcreate_external("a.h5", "/", plain.get(), "back", H5P_DEFAULT, H5P_DEFAULT);
  }
  const Opener opener;
  Linked a("plain.h5");
  fill_file(a.file.get(), 4);
  const Handle<&H5Gclose> held(H5Gopen2(a.file.get(), "other", H5P_DEFAULT));
  CHECK(file_number(held.get(), "back") == file_number(a.file.get()));
  CHECK(opener.calls == 0);
  a.file.reset();
  REQUIRE(a.host->finalised == 1);
  fill_file(held.get(), 9, "back/late");
  CHECK(opener.calls > 0);
  CHECK(a.host->finalised == 1);
  CHECK(is_filled(held.get(), 9, "back/late"));
}

TEST_CASE("skeleton: a file that only begins like a container is an ordinary file",
          "[vol][skeleton]") {
  const WorkFolder folder;
  make_plain("plain.h5", 7, 512);
  std::fstream("plain.h5", std::ios::in | std::ios::out | std::ios::binary).write("sion", 4);
  Opener opener;
  opener.not_ours = true;
  const Linked a("plain.h5");
  CHECK(is_filled(a.file.get(), 7, "other/group"));
  CHECK(opener.calls > 0);
}

TEST_CASE("skeleton: a container that the hook opens for reading only is not written",
          "[vol][skeleton]") {
  const WorkFolder folder;
  make_container("b.h5", 5);
  const Opener opener(false);
  const Linked a("b.h5");
  {
    const Quiet quiet;
    CHECK(H5Gopen2(a.file.get(), "other", H5P_DEFAULT) < 0);  // a link inherits the wish to write
  }
  const PlistHandle reading(H5Pcreate(H5P_GROUP_ACCESS));
  H5Pset_elink_acc_flags(reading.get(), H5F_ACC_RDONLY);
  const Handle<&H5Gclose> other(H5Gopen2(a.file.get(), "other", reading.get()));
  CHECK(is_filled(other.get(), 5));
}

TEST_CASE("skeleton: relative links are found from where a symbolic link leads",
          "[vol][skeleton]") {
  const WorkFolder folder;
  std::filesystem::create_directory("real");
  make_plain("real/plain.h5", 7);
  {
    const auto host = FakeHost::create("real/a.h5");
    const FileHandle file = create_file(host);
    host->armed = true;
    H5Lcreate_external("plain.h5", "/", file.get(), "other", H5P_DEFAULT, H5P_DEFAULT);
  }
  std::filesystem::create_symlink("real/a.h5", "a.h5");
  const auto host = FakeHost::open("a.h5", false);
  const FileHandle file = open_file(host, H5F_ACC_RDONLY);
  CHECK(is_filled(file.get(), 7, "other/group"));
}

TEST_CASE("skeleton: virtual datasets read ordinary files and containers", "[vol][skeleton]") {
  const WorkFolder folder;
  const Opener opener;
  make_plain("plain.h5", 0);
  make_container("b.h5", 1);
  const auto host = FakeHost::create("a.h5");
  const FileHandle file = create_file(host);
  const hsize_t both = 2 * kElements;
  const SpaceHandle whole(H5Screate_simple(1, &both, nullptr));
  const SpaceHandle source(H5Screate_simple(1, &kElements, nullptr));
  const PlistHandle layout(H5Pcreate(H5P_DATASET_CREATE));
  const char* const names[] = {"plain.h5", "b.h5"};
  for (hsize_t i = 0; i < 2; ++i) {
    const hsize_t start = i * kElements;
    H5Sselect_hyperslab(whole.get(), H5S_SELECT_SET, &start, nullptr, &kElements, nullptr);
    H5Pset_virtual(layout.get(), whole.get(), names[i], "/group/data", source.get());
  }
  const Handle<&H5Dclose> dataset(H5Dcreate2(file.get(), "virtual", H5T_NATIVE_INT, whole.get(),
                                             H5P_DEFAULT, layout.get(), H5P_DEFAULT));
  std::vector<int> values(both);
  REQUIRE(H5Dread(dataset.get(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >=
          0);
  CHECK(values[10] == 10);
  CHECK(values[kElements + 10] == 20);
}

TEST_CASE("skeleton: only ordinary files are deleted", "[vol][skeleton]") {
  const WorkFolder folder;
  make_plain("plain.h5", 7);
  make_container("b.h5", 5);
  const auto host = FakeHost::create("a.h5");
  const PlistHandle list = skeleton_list(host);
  CHECK(H5FDdelete("plain.h5", list.get()) >= 0);
  CHECK_FALSE(std::filesystem::exists("plain.h5"));
  const Quiet quiet;
  CHECK(H5FDdelete("b.h5", list.get()) < 0);
  CHECK_THAT(error_texts(), ContainsSubstring("delete it through the bento connector"));
  CHECK(std::filesystem::exists("b.h5"));
}
