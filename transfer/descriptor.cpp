// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/descriptor.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

namespace bento::transfer {

void Descriptor::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Result<Descriptor> open_at(int folder, const std::string& name, int flags, unsigned mode,
                           const std::string& shown) {
  int fd = -1;
  do {
    fd = ::openat(folder, name.c_str(), flags | O_CLOEXEC, static_cast<mode_t>(mode));
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return fail(os_error(errno, "open of", shown));
  return Descriptor(fd);
}

Status sync(int fd, const std::string& shown) {
  int status = 0;
  do {
    status = ::fsync(fd);
  } while (status != 0 && errno == EINTR);
  if (status != 0) return fail(os_error(errno, "fsync of", shown));
  return {};
}

Result<std::vector<std::byte>> read_whole(int fd, std::uint64_t most, const std::string& shown) {
  struct stat about{};
  if (::fstat(fd, &about) != 0) return fail(os_error(errno, "fstat of", shown));
  if (!S_ISREG(about.st_mode))
    return fail(Code::kInvalidArgument, fmt::format("'{}' is no regular file", shown));
  if (static_cast<std::uint64_t>(about.st_size) > most)
    return fail(Code::kUnsupported,
                fmt::format("'{}' has {} bytes; at most {} are read", shown, about.st_size, most));
  std::vector<std::byte> bytes(static_cast<std::size_t>(about.st_size));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got =
        ::pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(os_error(errno, fmt::format("read at offset {} from", done), shown));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

Status write_whole(int fd, std::uint64_t offset, std::span<const std::byte> bytes,
                   const std::string& shown) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0)
      return fail(os_error(put < 0 ? errno : EIO,
                           fmt::format("write of {} bytes at offset {} to", bytes.size(), offset),
                           shown));
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
  return {};
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string base_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace bento::transfer
