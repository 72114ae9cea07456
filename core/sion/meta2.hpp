// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// META2: how many blocks each task of a physical file used, and how full each of its chunks is.
/// The mapping table that may follow is core/sion/mapping.hpp. Source: docs/formats/sion.md,
/// section 6.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/io/file.hpp"

namespace bento {

class Meta2 {
 public:
  Meta2() = default;
  /// One task per entry of `block_counts`; all chunks are empty.
  explicit Meta2(std::vector<std::uint64_t> block_counts);

  [[nodiscard]] std::uint64_t tasks() const { return counts_.size(); }
  /// The largest block count: M of a file to be written.
  [[nodiscard]] std::uint64_t max_blocks() const;
  /// \pre task < tasks()
  [[nodiscard]] std::uint64_t blocks(std::uint64_t task) const { return counts_[task]; }
  /// Used bytes of a chunk; 0 for a block that the task does not have. \pre task < tasks()
  [[nodiscard]] std::uint64_t size(std::uint64_t task, std::uint64_t block) const {
    return block < counts_[task] ? sizes_[block * tasks() + task] : 0;
  }
  /// All used bytes of a task. Fits 64 bits in whatever was decoded. \pre task < tasks()
  [[nodiscard]] std::uint64_t stream_bytes(std::uint64_t task) const;

  /// Sets a size and raises the task's block count to include it. \pre task < tasks()
  void set_size(std::uint64_t task, std::uint64_t block, std::uint64_t bytes);
  /// \pre task < tasks()
  void set_blocks(std::uint64_t task, std::uint64_t blocks);

  /// Same counts and sizes.
  bool operator==(const Meta2& other) const;

 private:
  std::vector<std::uint64_t> counts_;
  std::vector<std::uint64_t> sizes_;  // [block][task], as on disk; at least max_blocks() rows
};

/// Block counts and max_blocks() size rows; unused entries are 0.
std::vector<std::byte> encode_meta2(const Meta2& meta, std::endian order);

/// Limits that META1 and the file set for a META2.
struct Meta2Bounds {
  std::endian order = std::endian::little;
  std::uint64_t tasks = 0;
  std::uint64_t max_blocks = 0;                  ///< M as stored in META1
  std::span<const std::uint64_t> chunk_bytes{};  ///< effective chunk sizes; shape [tasks]
};

/// Reads META2 at `address`. What a task stores beyond its own block count is ignored, as the
/// format asks; size rows beyond the largest count are not read. Errors: kCorrupt (does not fit the
/// file; a count above M, a size above its chunk: names task, block and byte; more entries than
/// kMaxSionSizeEntries), kIo.
Result<Meta2> read_meta2(File& file, std::uint64_t address, const Meta2Bounds& bounds);

/// The same from bytes that begin where META2 begins.
Result<Meta2> decode_meta2(std::span<const std::byte> bytes, const Meta2Bounds& bounds);

}  // namespace bento
