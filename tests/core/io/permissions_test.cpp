// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
// What a user can keep of another one's permissions. That of who can keep all: permissions.py.
#include "core/io/permissions.hpp"

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
constexpr unsigned char kAll[] = {0xFF, 0xFF, 0xFF, 0xFF};  // NOLINT(*-avoid-c-arrays)

struct Entry {
  unsigned char tag;
  unsigned char permissions;
};

/// Each entry for whoever has its tag; named users and groups are number -1.
std::vector<unsigned char> list_of(std::initializer_list<Entry> entries) {
  std::vector<unsigned char> list{2, 0, 0, 0};
  for (const auto& [tag, permissions] : entries) {
    list.insert(list.end(), {tag, 0, permissions, 0});
    list.insert(list.end(), std::begin(kAll), std::end(kAll));
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
  ::close(from);
}

}  // namespace
}  // namespace bento
