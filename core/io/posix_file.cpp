// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/io/posix_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace bento {
namespace {

/// Linux moves at most this much in one call; larger requests come back short, which costs nothing,
/// but other systems refuse them.
constexpr std::size_t kMaxTransfer = 0x7ffff000;
constexpr int kMaxIdleWrites = 16;

Status check_range(std::uint64_t offset, std::size_t count, std::string_view operation,
                   const std::string& path) {
  constexpr auto kEnd = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
  if (offset > kEnd || count > kEnd - offset)
    return fail(os_error(
        EFBIG, fmt::format("{} of {} bytes at offset {}", operation, count, offset), path));
  return {};
}

class PosixFile final : public File {
 public:
  PosixFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  // A close that nobody waited for has nobody to report to.
  ~PosixFile() override {
    if (fd_ >= 0) ::close(fd_);
  }
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;

  Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> into) override {
    BENTO_TRY(check_range(offset, into.size(), "read", path_));
    std::size_t done = 0;
    while (done < into.size()) {
      const std::size_t want = std::min(into.size() - done, kMaxTransfer);
      const ssize_t got = ::pread(fd_, into.data() + done, want, static_cast<off_t>(offset + done));
      if (got == 0) break;
      if (got > 0) {
        done += static_cast<std::size_t>(got);
      } else if (errno != EINTR) {
        return fail(os_error(
            errno, fmt::format("read of {} bytes at offset {} from", want, offset + done), path_));
      }
    }
    return done;
  }

  Status write_at(std::uint64_t offset, std::span<const std::byte> from) override {
    BENTO_TRY(check_range(offset, from.size(), "write", path_));
    std::size_t done = 0;
    int idle = 0;
    while (done < from.size()) {
      const std::size_t want = std::min(from.size() - done, kMaxTransfer);
      const ssize_t put =
          ::pwrite(fd_, from.data() + done, want, static_cast<off_t>(offset + done));
      if (put >= 0) {
        // Nothing written and no error: POSIX leaves it open, and to try for ever would hang the
        // program.
        idle = put == 0 ? idle + 1 : 0;
        if (idle > kMaxIdleWrites) return fail(os_error(EIO, "write without progress to", path_));
        done += static_cast<std::size_t>(put);
      } else if (errno != EINTR) {
        return fail(os_error(
            errno, fmt::format("write of {} bytes at offset {} to", want, offset + done), path_));
      }
    }
    return {};
  }

  Result<std::uint64_t> size() override {
    struct stat about{};
    if (::fstat(fd_, &about) != 0) return fail(os_error(errno, "fstat of", path_));
    return static_cast<std::uint64_t>(about.st_size);
  }

  Status truncate(std::uint64_t bytes) override {
    BENTO_TRY(check_range(bytes, 0, "truncate", path_));
    int status = 0;
    do {
      status = ::ftruncate(fd_, static_cast<off_t>(bytes));
    } while (status != 0 && errno == EINTR);
    if (status != 0)
      return fail(os_error(errno, fmt::format("truncate to {} bytes of", bytes), path_));
    return {};
  }

  Status sync() override {
    int status = 0;
    do {
      status = ::fsync(fd_);
    } while (status != 0 && errno == EINTR);
    if (status != 0) return fail(os_error(errno, "fsync of", path_));
    return {};
  }

  Status close() override {
    // Linux frees the descriptor even when close is interrupted: a second try could hit somebody
    // else's.
    const int status = ::close(std::exchange(fd_, -1));
    if (status != 0 && errno != EINTR) return fail(os_error(errno, "close of", path_));
    return {};
  }

  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] int descriptor() const override { return fd_; }

 private:
  std::string path_;
  int fd_ = -1;
};

int open_flags(OpenMode mode) {
  switch (mode) {
    case OpenMode::kRead:
      return O_RDONLY;
    case OpenMode::kReadWrite:
      return O_RDWR;
    case OpenMode::kCreate:
      return O_RDWR | O_CREAT | O_TRUNC;
    case OpenMode::kCreateExclusive:
    case OpenMode::kCreatePrivate:
      return O_RDWR | O_CREAT | O_EXCL;
    case OpenMode::kDirectory:
      return O_RDONLY | O_DIRECTORY;
  }
  return O_RDONLY;
}

}  // namespace

std::unique_ptr<File> take_descriptor(std::string path, int descriptor) {
  return std::make_unique<PosixFile>(std::move(path), descriptor);
}

Result<std::unique_ptr<File>> open_posix_file(const std::string& path, OpenMode mode) {
  int fd = -1;
  do {
    // Without O_NONBLOCK, the open of a named pipe waits until somebody writes into it.
    fd = ::open(path.c_str(), open_flags(mode) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                permissions_of(mode));
  } while (fd < 0 && errno == EINTR);
  if (fd < 0)
    return fail(os_error(
        errno,
        mode == OpenMode::kRead || mode == OpenMode::kDirectory ? "open of" : "open for writing of",
        path));
  struct stat about{};
  // Read-only opens of a folder succeed and fail only when read, with a message that names no
  // reason.
  if (mode != OpenMode::kDirectory && ::fstat(fd, &about) == 0 &&
      (S_ISDIR(about.st_mode) || S_ISFIFO(about.st_mode))) {
    ::close(fd);
    if (S_ISDIR(about.st_mode)) return fail(os_error(EISDIR, "open of", path));
    return fail(Code::kInvalidArgument, fmt::format("'{}' is a pipe, no regular file", path));
  }
  return std::unique_ptr<File>(std::make_unique<PosixFile>(path, fd));
}

}  // namespace bento
