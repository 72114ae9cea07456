// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/kvtree_file.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "tests/support/matchers.hpp"
#include "tests/support/scratch.hpp"
#include "tests/transfer/golden_scr.hpp"
#include "transfer/transfer_file.hpp"

using namespace bento;
using namespace bento::test;
using namespace bento::transfer;

namespace {

Entry entry_named(const std::string& source) {
  Entry entry;
  entry.source = source;
  entry.destination = "/destination" + source;
  entry.size = 1000;
  entry.ticket = "7";
  return entry;
}

Status add(const std::string& path, const std::string& source) {
  return update_kvfile(path, [&](KvTree& tree) -> Status {
    put_entry(tree, entry_named(source));
    return {};
  });
}

bool has(const KvTree& tree, const std::string& source) {
  return tree.find({"FILES", source}) != nullptr;
}

bool is_there(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

/// A process that adds an entry as soon as somebody has had the lock, or after 20 ms.
pid_t waiting_adder(const std::string& path, const std::string& source) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  const int fd = ::open(path.c_str(), O_RDWR);
  for (int i = 0; i < 200; ++i) {
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) break;
    ::flock(fd, LOCK_UN);
    ::usleep(100);
  }
  ::_exit(add(path, source) ? 0 : 1);
}

/// Runs `work` in a child and kills it at its `count`-th stop: before or after a system call.
/// Returns false if it ended before.
bool killed_at_stop(int count, const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    work();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFSTOPPED(status));
  for (int i = 0; i < count; ++i) {
    REQUIRE(::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) == 0);
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status)) {
      CHECK(WEXITSTATUS(status) == 0);
      return false;
    }
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));
  return true;
}

/// What SCR's print tool says of a file, if it is installed.
std::string judged(const std::string& path) {
  const char* const place = std::getenv("H5BENTO_JUDGE_KVTREE");
  if (place == nullptr || *place == '\0') return {};
  FILE* const pipe = ::popen(fmt::format("'{}/bin/kvtree_print' '{}'", place, path).c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  std::array<char, 4096> piece{};
  for (std::size_t got = 0; (got = std::fread(piece.data(), 1, piece.size(), pipe)) != 0;)
    text.append(piece.data(), got);
  CHECK(::pclose(pipe) == 0);
  return text;
}

}  // namespace

TEST_CASE("kvtree file: made, read, changed, and as it was when nothing changes", "[transfer]") {
  const Scratch scratch;
  const std::string path = scratch / "transfer.scrinfo";
  require_error(read_kvfile(path), Code::kNotFound, {"transfer.scrinfo"});
  CHECK_FALSE(is_there(path));
  require_ok(add(path, "/a"));
  CHECK(has(must(read_kvfile(path)), "/a"));
  struct stat before{};
  struct stat after{};
  REQUIRE(::stat(path.c_str(), &before) == 0);
  require_ok(update_kvfile(path, [](KvTree&) -> Status { return {}; }));
  require_error(update_kvfile(path,
                              [](KvTree& tree) -> Status {
                                tree.clear();
                                return fail(Code::kBusy, "no");
                              }),
                Code::kBusy);
  REQUIRE(::stat(path.c_str(), &after) == 0);
  CHECK(before.st_ino == after.st_ino);
  CHECK(before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
  CHECK_FALSE(is_there(path + ".next"));
  require_ok(update_kvfile(path, [](KvTree& tree) -> Status {
    tree.clear();
    return {};
  }));
  CHECK(bytes_of_file(path).size() == 28);
}

TEST_CASE("kvtree file: a torn one is mended from the copy beside it", "[transfer]") {
  const Scratch scratch;
  const std::string path = scratch / "t";
  const auto whole = require_golden_scr().front().content;
  for (std::size_t length = 1; length < whole.size(); length += 7) {
    auto torn = whole;
    torn.resize(length);
    write_file(path, torn);
    require_error(read_kvfile(path), Code::kCorrupt, {"t'", "t.next", "Remove the file"});
    require_error(add(path, "/new"), Code::kCorrupt);
    CHECK(bytes_of_file(path) == torn);
    write_file(path + ".next", whole);
    require_ok(read_kvfile(path));
    CHECK(bytes_of_file(path) == whole);
    CHECK_FALSE(is_there(path + ".next"));
  }
  // A file that was made anew is empty, whatever somebody has left beside it.
  write_file(path, {});
  write_file(path + ".next", whole);
  CHECK(must(read_kvfile(path)).empty());
  require_ok(add(path, "/new"));
  CHECK(must(read_kvfile(path)).find("FILES")->size() == 1);
}

TEST_CASE("kvtree file: who comes second waits, and one that was deleted is made anew",
          "[transfer]") {
  const Scratch scratch;
  const std::string path = scratch / "t";
  require_ok(add(path, "/a"));
  auto first = std::make_unique<LockedKvFile>(must(LockedKvFile::open(path)));
  require_error(LockedKvFile::open(path, std::chrono::milliseconds(30)), Code::kBusy, {"locked"});
  std::thread second([&] { CHECK(add(path, "/b")); });
  ::usleep(20'000);
  // As SCR's library does at its start.
  REQUIRE(::unlink(path.c_str()) == 0);
  first.reset();
  second.join();
  const KvTree tree = must(read_kvfile(path));
  CHECK_FALSE(has(tree, "/a"));
  CHECK(has(tree, "/b"));
}

TEST_CASE("kvtree file: a folder, a pipe and a link in the way are errors", "[transfer]") {
  const Scratch scratch;
  require_error(read_kvfile(scratch.path()), Code::kInvalidArgument, {"no regular file"});
  REQUIRE(::mkfifo((scratch / "pipe").c_str(), 0600) == 0);
  require_error(read_kvfile(scratch / "pipe"), Code::kInvalidArgument);
  require_ok(add(scratch / "t", "/a"));
  REQUIRE(::symlink((scratch / "other").c_str(), (scratch / "t.next").c_str()) == 0);
  require_ok(add(scratch / "t", "/b"));
  CHECK_FALSE(is_there(scratch / "other"));
}

TEST_CASE("kvtree file: killed at each system call of a change, no entry is lost", "[transfer]") {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  SKIP("the sanitizer makes system calls of its own");
#endif
  const Scratch scratch;
  const std::string path = scratch / "t";
  const auto whole = require_golden_scr().front().content;
  int stops = 0;
  for (bool going = true; going; ++stops) {
    write_file(path, whole);
    ::unlink((path + ".next").c_str());
    // The second locker waits while the first dies; it is a process of its own, as in life.
    const pid_t second = waiting_adder(path, "/second");
    going = killed_at_stop(stops, [&] { (void)add(path, "/killed"); });
    int status = 0;
    ::waitpid(second, &status, 0);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    const KvTree tree = must(read_kvfile(path));
    INFO("stop " << stops);
    CHECK(has(tree, "/second"));
    CHECK(tree.find("FILES")->size() == (has(tree, "/killed") ? 4 : 3));
    if (!going) CHECK(has(tree, "/killed"));
    const KvTree before = must(decode_kvtree(whole));
    for (const auto& one : before.find("FILES")->elements())
      CHECK(tree.find({"FILES", one.key, "WRITTEN"}) != nullptr);
    CHECK_FALSE(is_there(path + ".next"));
    if (const std::string printed = judged(path); !printed.empty())
      CHECK(printed == print_kvtree(tree, KvPrint::kTree));
  }
  INFO("stops: " << stops);
  CHECK(stops > 30);
}
