// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/io/read_ahead.hpp"

#include <algorithm>
#include <cstring>

namespace bento {

namespace {
constexpr std::size_t kSmallBytes = 64u << 10;  // larger reads gain nothing
constexpr std::uint64_t kGapBytes = 16u << 10;  // reads that leave out no more follow each other
constexpr std::size_t kFirstBytes = 16u << 10;
constexpr std::size_t kMostBytes = 256u << 10;
}  // namespace

bool ReadAhead::give(Sequence& sequence, const File& file, std::uint64_t address,
                     std::span<std::byte> into) {
  if (sequence.file != &file || address < sequence.begin) return false;
  const std::uint64_t skip = address - sequence.begin;
  if (skip > sequence.count || into.size() > sequence.count - skip) return false;
  std::memcpy(into.data(), sequence.bytes.get() + skip, into.size());
  sequence.next = address + into.size();
  sequence.used = ++clock_;
  return true;
}

// A failure further on in the file is nobody's affair yet.
bool ReadAhead::fill(Sequence& sequence, File& file, std::uint64_t address, std::size_t wanted,
                     std::uint64_t end) {
  const std::uint64_t left = end > address ? end - address : 0;
  const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(left, sequence.ahead));
  sequence.ahead = std::min(2 * sequence.ahead, kMostBytes);
  sequence.count = 0;
  if (bytes <= wanted) return false;
  if (bytes > sequence.room) {
    sequence.bytes = std::make_unique_for_overwrite<std::byte[]>(bytes);
    sequence.room = bytes;
  }
  ++file_reads_;
  const auto got = file.read_some(address, {sequence.bytes.get(), bytes});
  if (!got || *got < wanted) return false;
  sequence.begin = address;
  sequence.count = *got;
  return true;
}

Status ReadAhead::read(File& file, std::uint64_t address, std::span<std::byte> into,
                       std::uint64_t end) {
  if (into.size() <= kSmallBytes) {
    if (give(sequences_[last_], file, address, into)) return {};
    std::size_t oldest = 0;
    std::size_t follows = sequences_.size();
    for (std::size_t i = 0; i < sequences_.size(); ++i) {
      Sequence& sequence = sequences_[i];
      if (give(sequence, file, address, into)) {
        last_ = i;
        return {};
      }
      if (sequence.file == &file && address >= sequence.next &&
          address - sequence.next <= kGapBytes)
        follows = i;
      if (sequence.used < sequences_[oldest].used) oldest = i;
    }
    last_ = follows < sequences_.size() ? follows : oldest;
    Sequence& sequence = sequences_[last_];
    sequence.used = ++clock_;
    const bool filled = last_ == follows && fill(sequence, file, address, into.size(), end);
    if (last_ != follows) {
      sequence.file = &file;
      sequence.count = 0;
      sequence.ahead = kFirstBytes;
    }
    if (filled && give(sequence, file, address, into)) return {};
    sequence.next = address + into.size();
  }
  ++file_reads_;
  return file.read_at(address, into);
}

void ReadAhead::clear() {
  for (Sequence& sequence : sequences_) {
    sequence.count = 0;
    sequence.file = nullptr;
  }
}

}  // namespace bento
