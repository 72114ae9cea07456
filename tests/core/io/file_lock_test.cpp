// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/io/file_lock.hpp"

#include <csignal>
#include <cstdlib>
#include <functional>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "core/io/descriptor_passing.hpp"
#include "core/io/host.hpp"
#include "tests/support/scratch.hpp"

namespace bento {
namespace {

using Catch::Matchers::ContainsSubstring;
using namespace std::chrono_literals;

std::unique_ptr<File> open_file(const std::string& path) {
  auto file = open_posix_file(path, OpenMode::kReadWrite);
  if (!file) file = open_posix_file(path, OpenMode::kCreate);
  REQUIRE(file);
  return std::move(*file);
}

bool refused(const File& file) {
  const auto lock = FileLock::take_alone(file, Locking::kBestEffort);
  return !lock && lock.error().code == Code::kBusy;
}

bool locks(const FileLock& lock, const File& file) {
  const auto locked = lock.identity();
  const auto meant = file_identity(file);
  return locked && meant && *locked == *meant;
}

/// A child that does `work` and stays until it is told to go.
class Child {
 public:
  explicit Child(const std::function<bool()>& work) {
    REQUIRE(::pipe2(ready_, O_CLOEXEC) == 0);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      const char done = work() ? '+' : '-';
      (void)!::write(ready_[1], &done, 1);
      for (;;) ::pause();
    }
    char done = 0;
    worked_ = ::read(ready_[0], &done, 1) == 1 && done == '+';
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] bool worked() const { return worked_; }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(ready_[0]);
    ::close(ready_[1]);
    pid_ = 0;
  }

 private:
  int ready_[2] = {-1, -1};
  pid_t pid_ = 0;
  bool worked_ = false;
};

TEST_CASE("file lock: one owner, then many nodes, then none", "[core][io]") {
  const test::Scratch scratch;
  const auto file = open_file(scratch / "a");
  auto owner = FileLock::take_alone(*file, Locking::kBestEffort);
  REQUIRE(owner);
  REQUIRE(*owner);
  CHECK(locks(**owner, *file));
  CHECK(refused(*file));
  CHECK(is_locked(*file));
  bool sees = false;
  CHECK_FALSE(FileLock::take_shared(*file, Locking::kBestEffort, sees));
  CHECK(sees);
  REQUIRE((*owner)->share());
  CHECK(refused(*file));
  auto node = FileLock::take_shared(*file, Locking::kBestEffort, sees);
  REQUIRE(node);
  CHECK(sees);
  owner->reset();
  CHECK(refused(*file));
  node->reset();
  CHECK_FALSE(is_locked(*file));
  CHECK_FALSE(refused(*file));
  // Nobody's lock is seen: each node for itself.
  REQUIRE(FileLock::take_shared(*file, Locking::kBestEffort, sees));
  CHECK_FALSE(sees);
}

TEST_CASE("file lock: other descriptors of the file may come and go", "[core][io]") {
  const test::Scratch scratch;
  auto file = open_file(scratch / "a");
  const auto owner = FileLock::take_alone(*file, Locking::kBestEffort);
  REQUIRE(owner);
  REQUIRE(file->close());
  const auto again = open_file(scratch / "a");  // POSIX locks would be gone by now
  CHECK(refused(*again));
}

TEST_CASE("file lock: programs without h5bento", "[core][io]") {
  const test::Scratch scratch;
  const auto file = open_file(scratch / "a");
  const int other = ::open((scratch / "a").c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(other >= 0);
  SECTION("a reader comes in, before and after") {
    REQUIRE(::flock(other, LOCK_SH | LOCK_NB) == 0);
    const auto owner = FileLock::take_alone(*file, Locking::kBestEffort);
    REQUIRE(owner);
    CHECK((*owner)->others_read().value_or(false) == true);
    REQUIRE(::flock(other, LOCK_UN) == 0);
    CHECK((*owner)->others_read().value_or(true) == false);
    CHECK(::flock(other, LOCK_SH | LOCK_NB) == 0);
  }
  SECTION("a writer stays out") {
    const auto owner = FileLock::take_alone(*file, Locking::kBestEffort);
    REQUIRE(owner);
    CHECK((*owner)->others_read().value_or(true) == false);
    CHECK(::flock(other, LOCK_EX | LOCK_NB) != 0);
  }
  SECTION("a writer keeps us out") {
    REQUIRE(::flock(other, LOCK_EX | LOCK_NB) == 0);
    const auto owner = FileLock::take_alone(*file, Locking::kBestEffort);
    REQUIRE_FALSE(owner);
    CHECK(owner.error().code == Code::kBusy);
    CHECK_THAT(owner.error().text, ContainsSubstring("without h5bento"));
    CHECK_FALSE(is_locked(*file));
  }
  ::close(other);
}

TEST_CASE("file lock: switched off, and files that are none", "[core][io]") {
  const test::Scratch scratch;
  const auto file = open_file(scratch / "a");
  const auto owner = FileLock::take_alone(*file, Locking::kRequired);
  REQUIRE(owner);
  const auto other = FileLock::take_alone(*file, Locking::kOff);
  REQUIRE(other);
  CHECK_FALSE(*other);
}

TEST_CASE("file lock: a forked child keeps none, even as long as it lives", "[core][io]") {
  const test::Scratch scratch;
  const auto file = open_file(scratch / "a");
  auto owner = FileLock::take_alone(*file, Locking::kBestEffort);
  REQUIRE(owner);
  Child child([&] { return (*owner)->descriptor() == -1 && refused(*file); });
  CHECK(child.worked());
  owner->reset();
  CHECK_FALSE(refused(*file));
}

TEST_CASE("file lock: handed over, it lives as long as any that holds it", "[core][io]") {
  const test::Scratch scratch;
  const auto file = open_file(scratch / "a");
  const MeetingPlace place{random_id(), random_id(), 3};
  const auto until = std::chrono::steady_clock::now() + 20s;
  auto owner = FileLock::take_alone(*file, Locking::kBestEffort);
  REQUIRE(owner);
  int came = 0;
  std::thread giving([&] {
    auto giver = DescriptorGiver::open(place);
    if (giver) came = giver->give((*owner)->descriptor(), 1, until);
  });
  Child child([&] {
    MeetingPlace wrong = place;
    wrong.token = random_id();
    if (take_descriptor(wrong, until)) return false;  // without the token, nothing
    auto taken = take_descriptor(place, until);
    static std::unique_ptr<FileLock> kept;
    if (taken) kept = FileLock::handed_over(std::move(*taken));
    return taken && locks(*kept, *file);
  });
  giving.join();
  REQUIRE(child.worked());
  CHECK(came == 1);
  owner->reset();
  CHECK(refused(*file));
  child.end();
  CHECK_FALSE(refused(*file));
}

TEST_CASE("file lock: who has nothing to hand over says so, and nobody waits for ever",
          "[core][io]") {
  const MeetingPlace place{random_id(), random_id(), 0};
  const auto soon = std::chrono::steady_clock::now() + 50ms;
  CHECK_FALSE(take_descriptor(place, soon));
  std::thread giving([&] {
    auto giver = DescriptorGiver::open(place);
    CHECK(giver->give(-1, 1, std::chrono::steady_clock::now() + 20s) == 1);
    CHECK(giver->give(-1, 1, std::chrono::steady_clock::now() + 20ms) == 0);
  });
  CHECK_FALSE(take_descriptor(place, std::chrono::steady_clock::now() + 20s));
  giving.join();
}

}  // namespace
}  // namespace bento
