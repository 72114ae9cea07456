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

}  // namespace

SparseCopy::SparseCopy(int source, std::string source_name, int target, std::string target_name,
                       std::uint64_t size)
    : source_(source),
      source_name_(std::move(source_name)),
      target_(target),
      target_name_(std::move(target_name)),
      size_(size) {}

std::byte* SparseCopy::buffer() {
  if (!buffer_) buffer_ = std::make_unique<std::byte[]>(2 * kBufferBytes);
  return buffer_.get();
}

// A file system that knows nothing of holes says that all is data.
Result<std::uint64_t> SparseCopy::next_data(int fd, std::uint64_t from,
                                            const std::string& name) const {
  const off_t at = ::lseek(fd, static_cast<off_t>(from), SEEK_DATA);
  if (at >= 0) return std::min(static_cast<std::uint64_t>(at), size_);
  if (errno == ENXIO) return size_;
  if (errno == EINVAL || errno == EOPNOTSUPP) return from;
  return fail(os_error(errno, fmt::format("looking for data from offset {} on in", from), name));
}

Result<std::uint64_t> SparseCopy::next_hole(std::uint64_t from) const {
  const off_t at = ::lseek(source_, static_cast<off_t>(from), SEEK_HOLE);
  if (at >= 0) return std::min(static_cast<std::uint64_t>(at), size_);
  if (errno == ENXIO || errno == EINVAL || errno == EOPNOTSUPP) return size_;
  return fail(
      os_error(errno, fmt::format("looking for a hole from offset {} on in", from), source_name_));
}

Result<std::uint64_t> SparseCopy::first_difference(std::uint64_t end, Gate& gate, bool& go_on) {
  std::byte* const one = buffer();
  std::byte* const other = one + kBufferBytes;
  for (std::uint64_t at = 0; at < end;) {
    BENTO_ASSIGN(go_on, gate.pass());
    if (!go_on) return at;
    BENTO_ASSIGN(const std::uint64_t ours, next_data(source_, at, source_name_));
    BENTO_ASSIGN(const std::uint64_t theirs, next_data(target_, at, target_name_));
    at = std::min(ours, theirs);
    if (at >= end) break;
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(kBufferBytes, end - at));
    BENTO_ASSIGN(const std::size_t got, read_at(source_, at, one, want, source_name_));
    BENTO_ASSIGN(const std::size_t there, read_at(target_, at, other, want, target_name_));
    const std::size_t both = std::min(got, there);
    if (both < want || std::memcmp(one, other, both) != 0)
      return at + static_cast<std::uint64_t>(std::mismatch(one, one + both, other).first - one);
    at += want;
  }
  return end;
}

Result<bool> SparseCopy::resume(std::uint64_t bytes, Gate& gate) {
  struct stat about{};
  if (::fstat(target_, &about) != 0) return fail(os_error(errno, "fstat of", target_name_));
  const std::uint64_t there = static_cast<std::uint64_t>(about.st_size);
  bool go_on = true;
  BENTO_ASSIGN(offset_, first_difference(std::min({bytes, there, size_}), gate, go_on));
  if (!go_on) return false;
  if (::ftruncate(target_, static_cast<off_t>(offset_)) != 0 ||
      ::ftruncate(target_, static_cast<off_t>(size_)) != 0)
    return fail(os_error(errno, fmt::format("setting the length {} of", size_), target_name_));
  return true;
}

Result<std::uint64_t> SparseCopy::read_and_write(std::uint64_t bytes) {
  const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, kBufferBytes));
  BENTO_ASSIGN(const std::size_t got, read_at(source_, offset_, buffer(), want, source_name_));
  BENTO_TRY(write_whole(target_, offset_, std::span(buffer(), got), target_name_));
  return got;
}

Result<std::uint64_t> SparseCopy::copy_piece(std::uint64_t bytes) {
  if (!kernel_copies_) return read_and_write(bytes);
  auto from = static_cast<off_t>(offset_);
  off_t to = from;
  const ssize_t got =
      ::copy_file_range(source_, &from, target_, &to, static_cast<std::size_t>(bytes), 0);
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
      fmt::format("copy of {} bytes at offset {} from '{}' to", bytes, offset_, source_name_),
      target_name_));
}

Result<bool> SparseCopy::copy(Gate& gate,
                              const std::function<Result<bool>(std::uint64_t)>& durable) {
  std::uint64_t since = 0;
  std::uint64_t hole = offset_;
  while (offset_ < size_) {
    BENTO_ASSIGN(const bool go_on, gate.pass());
    if (!go_on) {
      BENTO_TRY(sync(target_, target_name_));
      (void)durable(offset_);
      return false;
    }
    if (offset_ >= hole) {
      BENTO_ASSIGN(offset_, next_data(source_, offset_, source_name_));
      if (offset_ >= size_) break;
      BENTO_ASSIGN(hole, next_hole(offset_));
    }
    // A burst ends where it ends in SCR: it does not grow to a multiple of the pieces.
    const std::uint64_t burst = gate.burst();
    const std::uint64_t want =
        std::min({gate.piece(), hole > offset_ ? hole - offset_ : size_ - offset_,
                  burst > since ? burst - since : burst});
    BENTO_ASSIGN(const std::uint64_t got, copy_piece(want));
    // Cut off or created anew: how long it is meant to be shows when it is opened again.
    if (got == 0 && !kernel_copies_)
      return fail(Code::kBusy,
                  fmt::format("source '{}' ends at byte {}, of {} that it had while it was copied",
                              source_name_, offset_, size_),
                  EBUSY);
    offset_ += got;
    since += got;
    gate.copied(got);
    if (since < gate.burst() || offset_ >= size_) continue;
    since = 0;
    BENTO_TRY(sync(target_, target_name_));
    BENTO_ASSIGN(const bool wanted, durable(offset_));
    if (!wanted) return false;
  }
  BENTO_TRY(sync(target_, target_name_));
  return durable(offset_);
}

}  // namespace bento::transfer
