// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
// What a user can keep of another one's permissions. That of who can keep all: permissions.py.
#include "core/io/permissions.hpp"

#include <array>
#include <vector>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <catch2/catch_test_macros.hpp>

#include "tests/support/scratch.hpp"

namespace bento {
namespace {

constexpr gid_t kGroup = 12345;
constexpr uid_t kNobody = 65534;
constexpr std::array<unsigned char, 4> kAll{0xFF, 0xFF, 0xFF, 0xFF};
constexpr std::array<unsigned char, 4> kNamed{0xE8, 0x03, 0, 0};

struct Entry {
  unsigned char tag;
  unsigned char permissions;
};

/// Each entry for whoever has its tag; a named user is number 1000.
std::vector<unsigned char> list_of(std::initializer_list<Entry> entries) {
  std::vector<unsigned char> list{2, 0, 0, 0};
  for (const auto& [tag, permissions] : entries) {
    list.insert(list.end(), {tag, 0, permissions, 0});
    const auto& who = tag == 2 ? kNamed : kAll;
    list.insert(list.end(), std::begin(who), std::end(who));
  }
  return list;
}

int make(const std::string& path, uid_t user, gid_t group, mode_t mode) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  REQUIRE(fd >= 0);
  REQUIRE(::fchown(fd, user, group) == 0);
  REQUIRE(::fchmod(fd, mode) == 0);
  return fd;
}

/// The mode that a file of a user without rights has, after it took those of `from`.
mode_t taken_by_nobody(int from, const std::string& path) {
  const int to = make(path, kNobody, kNobody, 0600);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool became = ::setegid(kNobody) == 0 && ::seteuid(kNobody) == 0;
    (void)::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // as a program of that user, which sees /proc/self
    if (became) take_permissions(from, to);
    ::_exit(became ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  struct stat now{};
  REQUIRE(::fstat(to, &now) == 0);
  CHECK(::fgetxattr(to, "system.posix_acl_access", nullptr, 0) < 0);
  ::close(to);
  return now.st_mode & 0777;
}

TEST_CASE("permissions: nobody gets more where the group cannot be kept", "[core]") {
  if (::geteuid() != 0) SKIP("only root makes files of other users");
  const test::Scratch folder;
  for (const auto& [mode, wanted] : std::initializer_list<std::pair<mode_t, mode_t>>{
           {0664, 0604}, {0604, 0600}, {0646, 0604}, {0660, 0600}, {0666, 0606}}) {
    CAPTURE(mode);
    const int from = make(folder / "from", 0, kGroup, mode);
    CHECK(taken_by_nobody(from, folder / "to") == wanted);
    ::close(from);
    ::unlink((folder / "from").c_str());
    ::unlink((folder / "to").c_str());
  }
}

TEST_CASE("permissions: nobody gets more where the list cannot be kept", "[core]") {
  if (::geteuid() != 0) SKIP("only root makes files of other users");
  const test::Scratch folder;
  const int from = make(folder / "from", 0, kGroup, 0666);
  // Owner, group, the most, all others; the group has nothing, though the mode says 6.
  const auto list = list_of({{1, 6}, {4, 0}, {0x10, 6}, {0x20, 6}});
  if (::fsetxattr(from, "system.posix_acl_access", list.data(), list.size(), 0) != 0)
    SKIP("the file system has no access control lists");
  CHECK(taken_by_nobody(from, folder / "to") == 0600);
  ::unlink((folder / "to").c_str());
  // A user and the group may write by their entries, but the most that any of them has is reading.
  const auto masked = list_of({{1, 6}, {2, 6}, {4, 6}, {0x10, 4}, {0x20, 6}});
  REQUIRE(::fsetxattr(from, "system.posix_acl_access", masked.data(), masked.size(), 0) == 0);
  CHECK(taken_by_nobody(from, folder / "to") == 0604);
  ::close(from);
}

TEST_CASE("permissions: a private file is private whatever umask and folder say", "[core]") {
  const test::Scratch folder;
  const auto given = list_of({{1, 7}, {2, 7}, {4, 7}, {0x10, 7}, {0x20, 7}});
  (void)::setxattr((folder / "").c_str(), "system.posix_acl_default", given.data(), given.size(),
                   0);  // where there are lists
  const mode_t before = ::umask(0);
  const Status made = make_private_file(folder / "private");
  const Status again = make_private_file(folder / "private");
  ::umask(before);
  REQUIRE(made);
  REQUIRE_FALSE(again);
  CHECK(again.error().code == Code::kExists);
  struct stat about{};
  REQUIRE(::stat((folder / "private").c_str(), &about) == 0);
  CHECK((about.st_mode & 0777) == 0600);
}

}  // namespace
}  // namespace bento
