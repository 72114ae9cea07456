// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/sparse_copy.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "transfer/descriptor.hpp"

namespace bento::transfer {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

Result<std::size_t> read_at(int fd, std::uint64_t offset, std::byte* into, std::size_t bytes,
                            const std::string& name) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::pread(fd, into + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return fail(
          os_error(errno, fmt::format("read of {} bytes at offset {} from", bytes, offset), name));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

/// Bytes from `from` on that come before the next data, or before the next hole; at most `most`. A
/// file system that knows nothing of holes says that all is data.
Result<std::uint64_t> bytes_before(int what, int fd, std::uint64_t from, std::uint64_t most,
                                   const std::string& name) {
  const off_t at = ::lseek(fd, static_cast<off_t>(from), what);
  if (at >= 0) return std::min(static_cast<std::uint64_t>(at) - from, most);
  if (errno == ENXIO) return most;
  if (errno == EINVAL || errno == EOPNOTSUPP) return what == SEEK_DATA ? 0 : most;
  return fail(os_error(errno,
                       fmt::format("looking for {} from offset {} on in",
                                   what == SEEK_DATA ? "data" : "a hole", from),
                       name));
}

}  // namespace

SparseCopy::SparseCopy(int source, std::string source_name, int target, std::string target_name,
                       std::uint64_t size)
    : source_name_(std::move(source_name)),
      bytes_(size),
      target_(target),
      target_name_(std::move(target_name)),
      size_(size),
      part_{source, &source_name_, 0, 0, size} {}

SparseCopy::SparseCopy(NextPart next, std::uint64_t bytes, int target, std::string target_name,
                       std::uint64_t size)
    : next_(std::move(next)),
      bytes_(bytes),
      target_(target),
      target_name_(std::move(target_name)),
      size_(size) {}

std::byte* SparseCopy::buffer() {
  if (!buffer_) buffer_ = std::make_unique<std::byte[]>(2 * kBufferBytes);
  return buffer_.get();
}

// False: everything is behind us.
bool SparseCopy::find_part() {
  while (part_.bytes == 0) {
    const auto next = next_ ? next_() : std::nullopt;
    if (!next) return false;
    part_ = *next;
    data_ = 0;
  }
  return true;
}

void SparseCopy::skip(std::uint64_t bytes) {
  part_.from += bytes;
  part_.to += bytes;
  part_.bytes -= bytes;
  data_ -= std::min(data_, bytes);
  offset_ += bytes;
}

// How many of the next `bytes` of the part are the same in the target.
Result<std::uint64_t> SparseCopy::equal_bytes(std::uint64_t bytes, Gate& gate, bool& go_on) {
  std::byte* const one = buffer();
  std::byte* const other = one + kBufferBytes;
  for (std::uint64_t at = 0; at < bytes;) {
    BENTO_ASSIGN(go_on, gate.pass());
    if (!go_on) return at;
    const std::uint64_t from = part_.from + at;
    const std::uint64_t to = part_.to + at;
    BENTO_ASSIGN(const std::uint64_t ours,
                 bytes_before(SEEK_DATA, part_.source, from, bytes - at, *part_.name));
    BENTO_ASSIGN(const std::uint64_t theirs,
                 bytes_before(SEEK_DATA, target_, to, bytes - at, target_name_));
    const std::uint64_t zeros = std::min(ours, theirs);
    at += zeros;
    if (at >= bytes) break;
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(kBufferBytes, bytes - at));
    BENTO_ASSIGN(const std::size_t got,
                 read_at(part_.source, from + zeros, one, want, *part_.name));
    BENTO_ASSIGN(const std::size_t there, read_at(target_, to + zeros, other, want, target_name_));
    const std::size_t both = std::min(got, there);
    if (both < want || std::memcmp(one, other, both) != 0)
      return at + static_cast<std::uint64_t>(std::mismatch(one, one + both, other).first - one);
    at += want;
  }
  return bytes;
}

Result<bool> SparseCopy::resume(std::uint64_t bytes, Gate& gate) {
  struct stat about{};
  if (::fstat(target_, &about) != 0) return fail(os_error(errno, "fstat of", target_name_));
  const std::uint64_t there = static_cast<std::uint64_t>(about.st_size);
  bool same = true;
  while (same && offset_ < bytes && find_part() && part_.to < there) {
    const std::uint64_t most = std::min({part_.bytes, bytes - offset_, there - part_.to});
    bool go_on = true;
    BENTO_ASSIGN(const std::uint64_t equal, equal_bytes(most, gate, go_on));
    if (!go_on) return false;
    skip(equal);
    same = equal == most;
  }
  const std::uint64_t keep = find_part() ? part_.to : size_;
  if (::ftruncate(target_, static_cast<off_t>(keep)) != 0 ||
      ::ftruncate(target_, static_cast<off_t>(size_)) != 0)
    return fail(os_error(errno, fmt::format("setting the length {} of", size_), target_name_));
  return true;
}

Result<std::uint64_t> SparseCopy::read_and_write(std::uint64_t bytes) {
  const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, kBufferBytes));
  BENTO_ASSIGN(const std::size_t got,
               read_at(part_.source, part_.from, buffer(), want, *part_.name));
  BENTO_TRY(write_whole(target_, part_.to, std::span(buffer(), got), target_name_));
  return got;
}

Result<std::uint64_t> SparseCopy::copy_piece(std::uint64_t bytes) {
  if (!kernel_copies_) return read_and_write(bytes);
  auto from = static_cast<off_t>(part_.from);
  auto to = static_cast<off_t>(part_.to);
  const ssize_t got =
      ::copy_file_range(part_.source, &from, target_, &to, static_cast<std::size_t>(bytes), 0);
  if (got > 0) return static_cast<std::uint64_t>(got);
  // Nothing and no error is what some file systems say where read() finds data.
  if (got == 0 || errno == EXDEV || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP ||
      errno == EBADF || errno == EPERM) {
    kernel_copies_ = false;
    return read_and_write(bytes);
  }
  if (errno == EINTR) return std::uint64_t{0};
  return fail(os_error(
      errno,
      fmt::format("copy of {} bytes at offset {} from '{}' to", bytes, part_.from, *part_.name),
      target_name_));
}

Result<bool> SparseCopy::copy(Gate& gate,
                              const std::function<Result<bool>(std::uint64_t)>& durable) {
  std::uint64_t since = 0;
  while (find_part()) {
    BENTO_ASSIGN(const bool go_on, gate.pass());
    if (!go_on) {
      BENTO_TRY(sync(target_, target_name_));
      (void)durable(offset_);
      return false;
    }
    if (data_ == 0) {
      BENTO_ASSIGN(const std::uint64_t zeros,
                   bytes_before(SEEK_DATA, part_.source, part_.from, part_.bytes, *part_.name));
      skip(zeros);
      if (part_.bytes == 0) continue;
      BENTO_ASSIGN(data_,
                   bytes_before(SEEK_HOLE, part_.source, part_.from, part_.bytes, *part_.name));
    }
    // A burst ends where it ends in SCR: it does not grow to a multiple of the pieces.
    const std::uint64_t burst = gate.burst();
    const std::uint64_t want = std::min(
        {gate.piece(), data_ > 0 ? data_ : part_.bytes, burst > since ? burst - since : burst});
    BENTO_ASSIGN(const std::uint64_t got, copy_piece(want));
    // Cut off or created anew: how long it is meant to be shows when it is opened again.
    if (got == 0 && !kernel_copies_)
      return fail(Code::kBusy,
                  fmt::format("source '{}' ends at byte {}, of {} that it had while it was copied",
                              *part_.name, part_.from, part_.from + part_.bytes),
                  EBUSY);
    skip(got);
    since += got;
    gate.copied(got);
    if (since < gate.burst() || offset_ >= bytes_) continue;
    since = 0;
    BENTO_TRY(sync(target_, target_name_));
    BENTO_ASSIGN(const bool wanted, durable(offset_));
    if (!wanted) return false;
  }
  BENTO_TRY(sync(target_, target_name_));
  return durable(offset_);
}

}  // namespace bento::transfer
