// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/io/host.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>

#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

namespace bento {

Result<std::pair<std::uint64_t, std::uint64_t>> file_identity(const File& file) {
  if (file.descriptor() < 0)
    return std::pair<std::uint64_t, std::uint64_t>{0, std::hash<std::string>{}(file.path())};
  struct stat info{};
  if (::fstat(file.descriptor(), &info) != 0) return fail(os_error(errno, "fstat of", file.path()));
  return std::pair<std::uint64_t, std::uint64_t>{info.st_dev, info.st_ino};
}

namespace {

bool are_one(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

}  // namespace

bool leads_to(const std::string& name, int descriptor) {
  struct stat named{};
  struct stat opened{};
  return ::stat(name.c_str(), &named) == 0 && ::fstat(descriptor, &opened) == 0 &&
         are_one(named, opened);
}

Status check_not_replaced(const std::string& name,
                          const std::pair<std::uint64_t, std::uint64_t>& identity) {
  struct stat named{};
  if (::stat(name.c_str(), &named) == 0 && std::pair(named.st_dev, named.st_ino) == identity)
    return {};
  return fail(Code::kBusy, "'" + name +
                               "' was renamed or replaced by another program meanwhile, and stays "
                               "as it is now");
}

bool lead_to_one_file(const std::string& one, const std::string& other) {
  struct stat first{};
  struct stat second{};
  return ::stat(one.c_str(), &first) == 0 && ::stat(other.c_str(), &second) == 0 &&
         are_one(first, second);
}

std::uint32_t file_system_block(const File& file) {
  constexpr std::uint32_t kSmallest = 4096;
  constexpr std::uint32_t kLargest = 4u << 20;
  struct stat info{};
  if (file.descriptor() < 0 || ::fstat(file.descriptor(), &info) != 0 || info.st_blksize <= 0)
    return kSmallest;
  const auto block = static_cast<std::uint64_t>(info.st_blksize);
  if (block <= kSmallest) return kSmallest;
  if (block >= kLargest) return kLargest;
  return std::bit_ceil(static_cast<std::uint32_t>(block));
}

bool shows_writes_late(const File& file) {
  // As statfs(2) has them: NFS, SMB, CIFS, SMB2, AFS, FUSE, 9P.
  constexpr std::array<std::uint32_t, 7> kKinds = {0x6969,     0x517B,     0xFF534D42, 0xFE534D42,
                                                   0x5346414F, 0x65735546, 0x01021997};
  struct statfs about{};
  if (file.descriptor() < 0 || ::fstatfs(file.descriptor(), &about) != 0) return false;
  return std::ranges::find(kKinds, static_cast<std::uint32_t>(about.f_type)) != kKinds.end();
}

Status remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0) return fail(os_error(errno, "removal of", path));
  return {};
}

std::array<std::byte, 16> random_id() {
  std::array<std::byte, 16> id{};
  if (::getentropy(id.data(), id.size()) == 0) return id;
  // A kernel, or a sandbox, that gives none: no other process has these at this moment.
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const std::array<std::int64_t, 2> unique = {
      now.tv_sec * 1'000'000'000 + now.tv_nsec,
      std::int64_t{::getpid()} << 32 ^ reinterpret_cast<std::intptr_t>(&id)};
  std::memcpy(id.data(), unique.data(), id.size());
  return id;
}

}  // namespace bento
