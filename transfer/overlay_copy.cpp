// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/overlay_copy.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>

#include <fmt/format.h>

#include "transfer/descriptor.hpp"

namespace bento::transfer {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;

bool holds_something(std::span<const std::byte> block) {
  // Compares each byte with the one before it.
  return block.front() != std::byte{0} ||
         std::memcmp(block.data(), block.data() + 1, block.size() - 1) != 0;
}

/// Up to `into.size()` bytes; fewer only at the end of the file.
Result<std::size_t> read_at(const NamedFile& file, std::uint64_t offset,
                            std::span<std::byte> into) {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t got =
        ::pread(file.fd, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return fail(os_error(errno,
                           fmt::format("read of {} bytes at offset {} from", into.size(), offset),
                           file.name));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

/// Where data or a hole begins. A file system that knows nothing of holes says that all is data.
Result<std::uint64_t> seek(const NamedFile& file, std::uint64_t from, int whence,
                           std::uint64_t end) {
  const off_t at = ::lseek(file.fd, static_cast<off_t>(from), whence);
  if (at >= 0) return std::min(static_cast<std::uint64_t>(at), end);
  if (errno == ENXIO) return end;
  if (errno == EINVAL || errno == EOPNOTSUPP) return whence == SEEK_DATA ? from : end;
  return fail(os_error(errno, fmt::format("lseek from offset {} on in", from), file.name));
}

class Overlay {
 public:
  Overlay(const NamedFile& source, const NamedFile& target)
      : source_(source), target_(target), buffer_(std::make_unique<std::byte[]>(2 * kPiece)) {}

  /// Copies what lies in a piece; returns how many bytes were written.
  Result<std::uint64_t> piece(std::uint64_t at, std::size_t bytes, bool compare) {
    const std::span<std::byte> ours(buffer_.get(), bytes);
    BENTO_ASSIGN(const std::size_t got, read_at(source_, at, ours));
    if (got < bytes)
      return fail(Code::kBusy,
                  fmt::format("source '{}' ends at byte {}, and was longer when it was opened",
                              source_.name, at + got),
                  EBUSY);
    std::span<std::byte> theirs;
    if (compare) {
      theirs = std::span(buffer_.get() + kPiece, bytes);
      std::ranges::fill(theirs, std::byte{0});
      BENTO_TRY(read_at(target_, at, theirs));
    }
    std::uint64_t written = 0;
    for (std::size_t begin = 0; begin < bytes;) {
      std::size_t end = begin;
      while (end < bytes && wanted(ours, theirs, end)) end = std::min(end + kOverlayBlock, bytes);
      if (end > begin) {
        BENTO_TRY(
            write_whole(target_.fd, at + begin, ours.subspan(begin, end - begin), target_.name));
        written += end - begin;
      }
      begin = std::max(end, begin + kOverlayBlock);
    }
    return written;
  }

 private:
  static bool wanted(std::span<const std::byte> ours, std::span<const std::byte> theirs,
                     std::size_t at) {
    const std::size_t bytes = std::min(kOverlayBlock, ours.size() - at);
    if (!holds_something(ours.subspan(at, bytes))) return false;
    return theirs.empty() || std::memcmp(ours.data() + at, theirs.data() + at, bytes) != 0;
  }

  const NamedFile& source_;
  const NamedFile& target_;
  std::unique_ptr<std::byte[]> buffer_;
};

}  // namespace

Result<bool> overlay_copy(const NamedFile& source, const NamedFile& target, std::uint64_t bytes,
                          std::uint64_t from, Gate& gate,
                          const std::function<Result<bool>(std::uint64_t)>& durable) {
  Overlay overlay(source, target);
  std::uint64_t since = 0;
  std::uint64_t hole = 0;
  for (std::uint64_t at = 0; at < bytes;) {
    BENTO_ASSIGN(const bool go_on, gate.pass());
    if (!go_on) {
      BENTO_TRY(sync(target.fd, target.name));
      (void)durable(at);
      return false;
    }
    if (at >= hole) {
      BENTO_ASSIGN(at, seek(source, at, SEEK_DATA, bytes));
      if (at >= bytes) break;
      BENTO_ASSIGN(hole, seek(source, at, SEEK_HOLE, bytes));
      at -= at % kOverlayBlock;
    }
    const std::uint64_t want = std::min<std::uint64_t>(
        {kPiece,
         std::max<std::uint64_t>(gate.piece(), kOverlayBlock) / kOverlayBlock * kOverlayBlock,
         bytes - at});
    BENTO_ASSIGN(const std::uint64_t written,
                 overlay.piece(at, static_cast<std::size_t>(want), at < from));
    at += want;
    since += written;
    gate.copied(written);
    if (since < gate.burst() || at >= bytes) continue;
    since = 0;
    BENTO_TRY(sync(target.fd, target.name));
    BENTO_ASSIGN(const bool wanted, durable(at));
    if (!wanted) return false;
  }
  BENTO_TRY(sync(target.fd, target.name));
  return durable(bytes);
}

}  // namespace bento::transfer
