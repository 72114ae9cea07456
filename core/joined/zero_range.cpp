// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "core/joined/joined_files.hpp"

namespace bento {

namespace {

constexpr std::uint64_t kPieceBytes = 1u << 20;

/// The next byte at or behind `from` that may not be zero; `end` if there is none before it.
std::uint64_t next_data(const File& file, std::uint64_t from, std::uint64_t end) {
  const off_t at = ::lseek(file.descriptor(), static_cast<off_t>(from), SEEK_DATA);
  if (at < 0) return errno == ENXIO ? end : from;
  return std::min(static_cast<std::uint64_t>(at), end);
}

}  // namespace

Status zero_range(File& file, std::uint64_t offset, std::uint64_t bytes) {
  BENTO_ASSIGN(const std::uint64_t size, file.size());
  const std::uint64_t end = std::min(size, offset + bytes);
  if (offset >= end) return {};
  if (file.descriptor() >= 0 &&
      ::fallocate(file.descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  static_cast<off_t>(offset), static_cast<off_t>(end - offset)) == 0)
    return {};
  // The file system cannot; so only what holds something is written over.
  const std::vector<std::byte> zeros(kPieceBytes);
  for (std::uint64_t at = offset; at < end;) {
    if (file.descriptor() >= 0) at = next_data(file, at, end);
    const std::uint64_t piece = std::min<std::uint64_t>(kPieceBytes, end - at);
    if (piece == 0) break;
    BENTO_TRY(file.write_at(at, std::span(zeros).first(static_cast<std::size_t>(piece))));
    at += piece;
  }
  return {};
}

}  // namespace bento
