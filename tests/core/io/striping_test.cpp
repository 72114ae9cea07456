// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/io/striping.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "tests/support/matchers.hpp"
#include "tests/support/scratch.hpp"

using namespace bento;
using namespace bento::test;

namespace {

/// As Lustre takes and gives them, by offset.
template <class Number>
Number at(const std::byte* bytes, std::size_t offset) {
  Number number{};
  std::memcpy(&number, bytes + offset, sizeof number);
  return number;
}

/// Lustre, as far as one file of it is made: a file gets a layout once, and only before its first
/// byte and before it is opened in the ordinary way.
struct FakeLustre {
  std::vector<std::string> said;
  std::vector<std::byte> layout;  ///< 32 bytes, once it is set
  bool delayed = false;
  int refuse = 0;  ///< errno of the ioctl

  StripingCalls calls() {
    return {[](const std::string&) { return true; },
            [this](const std::string& path, int flags, unsigned) {
              const int fd = ::open(path.c_str(), flags & ~(O_ASYNC | O_NOCTTY), 0666);
              if (fd < 0) return fd;
              delayed = (flags & (O_ASYNC | O_NOCTTY)) == (O_ASYNC | O_NOCTTY);
              said.emplace_back(delayed ? "open without objects" : "open");
              return fd;
            },
            [this](int fd, unsigned long request, void* argument) {
              return control(fd, request, static_cast<std::byte*>(argument));
            }};
  }

  int control(int fd, unsigned long request, std::byte* argument) {
    if (request == _IOW('f', 155, long)) {
      if (layout.empty()) return failed(ENODATA);
      std::memcpy(argument, layout.data(), layout.size());
      return 0;
    }
    said.emplace_back("set");
    if (refuse != 0) return failed(refuse);
    const bool untouched = ::lseek(fd, 0, SEEK_END) == 0;
    if (!delayed || !untouched || !layout.empty()) return failed(EEXIST);
    if (request != _IOW('f', 154, long) || at<std::uint32_t>(argument, 0) != 0x0BD10BD0)
      return failed(EINVAL);
    layout.assign(argument, argument + 32);
    return 0;
  }

  static int failed(int error) {
    errno = error;
    return -1;
  }
};

}  // namespace

TEST_CASE("striping: a new file on Lustre has it before its first byte", "[core][io]") {
  const Scratch scratch;
  FakeLustre lustre;
  const std::string path = scratch / "f";
  auto file =
      must(open_striped_file(path, OpenMode::kCreateExclusive, {8, 4u << 20}, lustre.calls()));
  CHECK(lustre.said == std::vector<std::string>{"open without objects", "set"});
  REQUIRE(lustre.layout.size() == 32);
  CHECK(at<std::uint32_t>(lustre.layout.data(), 4) == 0);          // pattern: the default
  CHECK(at<std::uint32_t>(lustre.layout.data(), 24) == 4u << 20);  // bytes of a stripe
  CHECK(at<std::uint16_t>(lustre.layout.data(), 28) == 8);         // stripes
  CHECK(at<std::uint16_t>(lustre.layout.data(), 30) == 0xffff);    // any first server
  require_ok(file->write_at(0, std::vector<std::byte>(10)));
  CHECK(striping_of(path, file->descriptor(), lustre.calls()) == Striping{8, 4u << 20});
}

TEST_CASE("striping: over all servers, and only one of two numbers", "[core][io]") {
  const Scratch scratch;
  FakeLustre lustre;
  SECTION("all") {
    must(open_striped_file(scratch / "f", OpenMode::kCreate, {Striping::kAllServers, 0},
                           lustre.calls()));
    CHECK(at<std::uint16_t>(lustre.layout.data(), 28) == 0xffff);
    CHECK(at<std::uint32_t>(lustre.layout.data(), 24) == 0);
  }
  SECTION("bytes") {
    must(open_striped_file(scratch / "f", OpenMode::kCreate, {0, 1u << 20}, lustre.calls()));
    CHECK(at<std::uint16_t>(lustre.layout.data(), 28) == 0);
    CHECK(at<std::uint32_t>(lustre.layout.data(), 24) == 1u << 20);
  }
  SECTION("more than Lustre has") {
    must(open_striped_file(scratch / "f", OpenMode::kCreate, {70000, 0}, lustre.calls()));
    CHECK(at<std::uint16_t>(lustre.layout.data(), 28) == 2000);
  }
}

TEST_CASE("striping: what is refused leaves a file all the same", "[core][io]") {
  const Scratch scratch;
  FakeLustre lustre;
  lustre.refuse = EINVAL;
  const std::string path = scratch / "f";
  auto file = must(open_striped_file(path, OpenMode::kCreateExclusive, {8, 0}, lustre.calls()));
  require_ok(file->write_at(0, std::vector<std::byte>(10)));
  CHECK_FALSE(striping_of(path, file->descriptor(), lustre.calls()));
}

TEST_CASE("striping: a file that is there keeps what it has", "[core][io]") {
  const Scratch scratch;
  FakeLustre lustre;
  const std::string path = scratch / "f";
  must(open_striped_file(path, OpenMode::kCreate, {8, 0}, lustre.calls()));
  lustre.said.clear();
  auto again = must(open_striped_file(path, OpenMode::kCreate, {2, 0}, lustre.calls()));
  CHECK(lustre.said.empty());
  CHECK(striping_of(path, again->descriptor(), lustre.calls()) == Striping{8, 0});
  const auto exclusive =
      open_striped_file(path, OpenMode::kCreateExclusive, {2, 0}, lustre.calls());
  REQUIRE_FALSE(exclusive);
  CHECK(exclusive.error().code == Code::kExists);
}

TEST_CASE("striping: elsewhere a file is a file", "[core][io]") {
  const Scratch scratch;
  const auto calls = system_striping_calls();
  const std::string path = scratch / "f";
  auto file = must(open_striped_file(path, OpenMode::kCreate, {8, 1u << 20}, calls));
  require_ok(file->write_at(0, std::vector<std::byte>(10)));
  CHECK_FALSE(striping_of(path, file->descriptor(), calls));
}
