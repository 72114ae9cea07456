// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Where things lie in one physical file, from META1's numbers alone. Pure arithmetic; whatever
/// does not fit a signed 64-bit file offset is an Error. Source: docs/formats/sion.md, section 4.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace bento {

/// Bytes of META1 for `tasks` tasks, with or without the 12 that are written at close.
std::uint64_t sion_meta1_bytes(std::uint64_t tasks, bool with_tail = true);

/// S, the address of the first chunk. Errors: kCorrupt (fsblksize 0).
Result<std::uint64_t> sion_data_start(std::uint64_t tasks, std::uint64_t fsblksize);

/// Bytes of META2 without a mapping: block counts, then `blocks` size rows.
Result<std::uint64_t> sion_meta2_bytes(std::uint64_t tasks, std::uint64_t blocks);

/// Name of physical file `index` of a container: its own name, or name.%06d.
std::string sion_file_name(const std::string& name, std::uint32_t index);

/// SIONlib's distribution of `tasks` over `files`: equal parts, what remains goes to the last file.
/// \pre 0 < files <= tasks
std::uint32_t sion_file_of_task(std::uint32_t task, std::uint32_t tasks, std::uint32_t files);

/// Addresses of the chunks of one physical file.
class SionLayout {
 public:
  SionLayout() = default;
  /// `chunk_bytes` as they count for addresses (see Meta1::effective_chunk_bytes).
  /// Errors: kCorrupt (fsblksize 0, sums beyond 63 bits: names the task).
  static Result<SionLayout> make(std::uint64_t fsblksize,
                                 std::span<const std::uint64_t> chunk_bytes);

  [[nodiscard]] std::uint64_t tasks() const { return starts_.empty() ? 0 : starts_.size() - 1; }
  /// S.
  [[nodiscard]] std::uint64_t data_start() const { return data_start_; }
  /// G: what one block of all tasks takes.
  [[nodiscard]] std::uint64_t block_bytes() const { return starts_.empty() ? 0 : starts_.back(); }
  /// \pre task < tasks()
  [[nodiscard]] std::uint64_t chunk_bytes(std::uint64_t task) const {
    return starts_[task + 1] - starts_[task];
  }
  /// Errors: kInvalidArgument (task), kCorrupt (beyond 63 bits).
  [[nodiscard]] Result<std::uint64_t> chunk_address(std::uint64_t task, std::uint64_t block) const;
  /// Where a writer puts META2: behind `blocks` blocks. Errors: kCorrupt (beyond 63 bits).
  [[nodiscard]] Result<std::uint64_t> meta2_address(std::uint64_t blocks) const;

 private:
  std::uint64_t data_start_ = 0;
  std::vector<std::uint64_t> starts_;  // of each task relative to its block; one more for the sum
};

}  // namespace bento
