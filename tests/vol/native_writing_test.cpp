// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// What another process does between the look at a file and the native open of it: here it is done
// in that open.
#include "vol/file/native_writing.hpp"

#include <filesystem>
#include <fstream>
#include <vector>

#include <fcntl.h>
#include <hdf5.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "core/comm/communicator.hpp"
#include "core/container/container.hpp"
#include "core/io/file_lock.hpp"
#include "core/io/posix_file.hpp"
#include "tests/support/matchers.hpp"
#include "tests/vol/fake_host.hpp"

namespace bento::vol {
namespace {

using bento::test::must;

constexpr const char* kFile = "file.h5";

void make_container(const std::string& name) {
  ContainerOptions options;
  options.opener = open_posix_file;
  auto container = must(Container::create(name, false, options, make_self_communicator()));
  must(container->close({}));
}

void make_other(const std::string& name) {
  std::ofstream(name) << "no container, and no HDF5 file";
}

/// Stands for the native connector: `first` happens when it is called for the first time.
struct Native {
  std::function<void()> first;
  std::function<bool()> opens = [] { return true; };  ///< whether it succeeds
  std::vector<unsigned> opened{};
  int closed = 0;

  NativeCalls calls() {
    return {[this](unsigned flags) -> Result<void*> {
              opened.push_back(flags);
              if (opened.size() == 1 && first) first();
              if (!opens()) return fail(Code::kNotFound, "the native error");
              return this;
            },
            [this](void* file) {
              CHECK(file == this);
              ++closed;
            }};
  }
};

AgreedFile alone(Locking locking = Locking::kBestEffort) {
  AgreedFile file;
  file.comm = make_self_communicator();
  file.decision.locking = static_cast<std::uint8_t>(locking);
  return file;
}

Result<std::optional<void*>> open_to_write(Native& native) {
  return vol::open_to_write(kFile, H5F_ACC_RDWR, alone(), native.calls());
}

TEST_CASE("native writing: a file that stays what it is is opened once", "[vol]") {
  const test::WorkFolder folder;
  make_other(kFile);
  Native native;
  const auto opened = must(open_to_write(native));
  CHECK(opened == std::optional<void*>(&native));
  CHECK(native.opened == std::vector<unsigned>{H5F_ACC_RDWR});
  CHECK(native.closed == 0);
}

TEST_CASE("native writing: a container that came to where nothing was is not written", "[vol]") {
  const test::WorkFolder folder;
  Native native{[] { make_container(kFile); }};
  CHECK(must(open_to_write(native)) == std::nullopt);
  CHECK(native.opened == std::vector<unsigned>{H5F_ACC_RDONLY});
  CHECK(native.closed == 1);
}

TEST_CASE("native writing: a container that took the place of a file is let go", "[vol]") {
  const test::WorkFolder folder;
  make_other(kFile);
  make_container("container.h5");
  Native native{[] { std::filesystem::rename("container.h5", kFile); }};
  CHECK(must(open_to_write(native)) == std::nullopt);
  CHECK(native.closed == 1);
}

TEST_CASE("native writing: meanwhile nobody makes a container of the file", "[vol]") {
  const test::WorkFolder folder;
  make_other(kFile);
  const auto file = must(open_posix_file(kFile, OpenMode::kReadWrite));
  bool refused = false;
  Native native{[&] {
    const auto lock = FileLock::take_alone(*file, Locking::kRequired);
    refused = !lock && lock.error().code == Code::kBusy;
  }};
  CHECK(must(open_to_write(native)).has_value());
  CHECK(refused);
  CHECK(must(FileLock::take_alone(*file, Locking::kRequired)) != nullptr);
}

TEST_CASE("native writing: a file that is being made into a container is busy", "[vol]") {
  const test::WorkFolder folder;
  make_other(kFile);
  const auto file = must(open_posix_file(kFile, OpenMode::kReadWrite));
  const auto lock = must(FileLock::take_alone(*file, Locking::kRequired));
  Native native;
  const auto opened = open_to_write(native);
  REQUIRE(!opened);
  CHECK(opened.error().code == Code::kBusy);
  CHECK(native.opened.empty());
}

TEST_CASE("native writing: the library's own error for what is not there", "[vol]") {
  const test::WorkFolder folder;
  Native native;
  native.opens = [] { return false; };
  const auto opened = open_to_write(native);
  REQUIRE(!opened);
  CHECK(opened.error().text == "the native error");
  CHECK(native.opened.size() == 1);
}

TEST_CASE("native writing: a name that only the library understands", "[vol]") {
  const test::WorkFolder folder;
  Native native;
  CHECK(must(open_to_write(native)).has_value());
  CHECK(native.opened == std::vector<unsigned>{H5F_ACC_RDONLY, H5F_ACC_RDWR});
  CHECK(native.closed == 1);
}

TEST_CASE("native writing: where HDF5's lock is one of the whole file, ours gives way", "[vol]") {
  const test::WorkFolder folder;
  make_other(kFile);
  const auto file = must(open_posix_file(kFile, OpenMode::kReadWrite));
  // As NFS does it: flock() locks all bytes, against the range lock of another descriptor, too.
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  Native native;
  native.opens = [&] { return ::fcntl(file->descriptor(), F_OFD_SETLK, &whole) == 0; };
  CHECK(must(open_to_write(native)).has_value());
  CHECK(native.opened == std::vector<unsigned>{H5F_ACC_RDWR, H5F_ACC_RDWR});
  CHECK(native.closed == 0);
}

}  // namespace
}  // namespace bento::vol
