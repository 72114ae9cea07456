// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "core/io/file.hpp"
#include "tests/support/matchers.hpp"
#include "tests/support/scratch.hpp"

using namespace bento;
using namespace bento::test;

namespace {

std::vector<std::byte> pattern(std::size_t bytes) {
  std::vector<std::byte> result(bytes);
  for (std::size_t i = 0; i < bytes; ++i) result[i] = static_cast<std::byte>(i % 253);
  return result;
}

}  // namespace

TEST_CASE("posix file: writes, reads, grows and shrinks", "[core][io]") {
  const Scratch scratch;
  auto file = must(open_posix_file(scratch / "f", OpenMode::kCreate));
  const auto data = pattern(10000);
  require_ok(file->write_at(5, data));
  CHECK(must(file->size()) == 10005);
  std::vector<std::byte> back(data.size());
  require_ok(file->read_at(5, back));
  CHECK(back == data);
  require_ok(file->read_at(0, std::span(back).first(5)));
  CHECK(back[4] == std::byte{0});
  require_ok(file->truncate(100));
  CHECK(must(file->size()) == 100);
  require_ok(file->truncate(200));
  CHECK(must(file->size()) == 200);
  require_ok(file->sync());
  CHECK(file->descriptor() >= 0);
  CHECK((::fcntl(file->descriptor(), F_GETFD) & FD_CLOEXEC) != 0);
  require_ok(file->close());
}

TEST_CASE("posix file: offsets above 4 GiB", "[core][io]") {
  const Scratch scratch;
  auto file = must(open_posix_file(scratch / "f", OpenMode::kCreate));
  constexpr std::uint64_t kFar = (5ull << 32) + 1;
  require_ok(file->write_at(kFar, pattern(10)));
  CHECK(must(file->size()) == kFar + 10);
  std::vector<std::byte> back(10);
  require_ok(file->read_at(kFar, back));
  CHECK(back == pattern(10));
}

TEST_CASE("posix file: a read across the end says where the file ends", "[core][io]") {
  const Scratch scratch;
  auto file = must(open_posix_file(scratch / "f", OpenMode::kCreate));
  require_ok(file->write_at(0, pattern(10)));
  std::vector<std::byte> into(8);
  require_error(file->read_at(5, into), Code::kCorrupt, {"/f'", "ends at byte 10", "offset 5"});
  require_error(file->read_at(90, into), Code::kCorrupt, {"ends at byte 10", "offset 90"});
  CHECK(must(file->read_some(5, into)) == 5);
  CHECK(must(file->read_some(10, into)) == 0);
  CHECK(must(file->read_some(1000, into)) == 0);
  require_ok(file->read_at(1000, {}));
}

TEST_CASE("posix file: offsets that are no file offsets", "[core][io]") {
  const Scratch scratch;
  auto file = must(open_posix_file(scratch / "f", OpenMode::kCreate));
  std::vector<std::byte> one(1);
  require_error(file->write_at(std::uint64_t{1} << 63, one), Code::kNoSpace, {"errno = 27"});
  require_error(file->read_at((std::uint64_t{1} << 63) - 1, one), Code::kNoSpace);
  require_error(file->truncate(~std::uint64_t{0}), Code::kNoSpace);
}

TEST_CASE("posix file: open modes", "[core][io]") {
  const Scratch scratch;
  const std::string path = scratch / "f";
  require_error(open_posix_file(path, OpenMode::kRead), Code::kNotFound, {path, "errno = 2"});
  require_error(open_posix_file(path, OpenMode::kReadWrite), Code::kNotFound);
  require_error(open_posix_file(scratch / "no/f", OpenMode::kCreate), Code::kNotFound);
  require_error(open_posix_file(scratch.path(), OpenMode::kRead), Code::kIo, {"Is a directory"});
  auto first = must(open_posix_file(path, OpenMode::kCreateExclusive));
  require_ok(first->write_at(0, pattern(3)));
  require_error(open_posix_file(path, OpenMode::kCreateExclusive), Code::kExists);
  auto second = must(open_posix_file(path, OpenMode::kReadWrite));
  CHECK(must(second->size()) == 3);
  auto reader = must(open_posix_file(path, OpenMode::kRead));
  require_error(reader->write_at(1, pattern(1)), Code::kIo, {"write of 1 bytes at offset 1", path});
  auto again = must(open_posix_file(path, OpenMode::kCreate));
  CHECK(must(again->size()) == 0);
}

TEST_CASE("posix file: a folder or a pipe in its place is an error, at once", "[core][io]") {
  const Scratch scratch;
  const auto pipe = scratch / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const auto mode : {OpenMode::kRead, OpenMode::kReadWrite, OpenMode::kCreate})
    require_error(open_posix_file(pipe, mode), Code::kInvalidArgument, {"pipe"});
  require_error(open_posix_file(scratch.path(), OpenMode::kRead), Code::kIo, {"directory"});
}

TEST_CASE("posix file: a full disk comes back as no space, with what was wanted", "[core][io]") {
  if (::access("/dev/full", W_OK) != 0) SKIP("no /dev/full here");
  auto file = must(open_posix_file("/dev/full", OpenMode::kReadWrite));
  const Status status = file->write_at(0, pattern(4));
  require_error(status, Code::kNoSpace, {"4 bytes", "/dev/full"});
  CHECK(status.error().os_errno == ENOSPC);
}

TEST_CASE("posix file: a write cut short by a size limit goes on and then reports it",
          "[core][io]") {
  const Scratch scratch;
  auto file = must(open_posix_file(scratch / "f", OpenMode::kCreate));
  struct rlimit old{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &old) == 0);
  auto* const handler = ::signal(SIGXFSZ, SIG_IGN);
  struct rlimit small = old;
  small.rlim_cur = 1000;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const Status status = file->write_at(0, pattern(5000));
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &old) == 0);
  ::signal(SIGXFSZ, handler);
  require_error(status, Code::kNoSpace, {"at offset 1000"});
  CHECK(must(file->size()) == 1000);
}
