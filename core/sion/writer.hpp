// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Writes plain SION containers from one process, with the conventions of either of SIONlib's
/// writers: for export, and to make test containers. The connector's own containers are written by
/// core/container.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/io/file.hpp"
#include "core/sion/file_set.hpp"
#include "core/sion/layout.hpp"
#include "core/sion/mapping.hpp"
#include "core/sion/meta1.hpp"
#include "core/sion/meta2.hpp"

namespace bento {

/// Whose habits to follow where SIONlib's writers differ and its readers do not care.
enum class SionStyle {
  kSerial,    ///< one file, filenumber 1, an empty mapping behind the size rows
  kParallel,  ///< filenumber 0 .. files - 1; a mapping in file 0 of several, else nothing
};

struct SionTask {
  std::int64_t global_rank = 0;
  std::uint64_t chunk_bytes = 0;  ///< as requested; rounded up to fsblksize unless told otherwise
};

struct SionWriterOptions {
  SionStyle style = SionStyle::kParallel;
  std::uint32_t fsblksize = 4096;
  std::uint32_t files = 1;
  /// Which file and local task each task is; empty: SIONlib's distribution over `files`. Local
  /// tasks must be 0, 1, ... in each file.
  SionMapping places;
  std::string prefix;  ///< stored as the container's name; empty: the name it is created with
  std::endian order = std::endian::little;
  std::endian data_order = std::endian::little;
  KeyvalMode keyval = KeyvalMode::kNone;
  bool round_chunks = true;  ///< false: sizes as given, as SIONlib's collective mode leaves them
  /// Give all tasks of a file the same block count: SIONlib's sion_open_rank believes the first
  /// task's.
  bool even_blocks = false;
};

/// Nothing is a container until finish() has returned; what it leaves before is refused by every
/// reader. Not thread-safe.
class SionWriter {
 public:
  /// Creates or truncates all physical files and writes META1 without its last 12 bytes. Global
  /// task g is `tasks[g]`. Errors: kInvalidArgument (no tasks; several files in serial style;
  /// places that are no mapping; several files whose global ranks are not 0, 1, ...), kIo,
  /// kNoSpace.
  static Result<SionWriter> create(FileOpener opener, const std::string& name,
                                   const SionWriterOptions& options,
                                   std::span<const SionTask> tasks);

  [[nodiscard]] std::uint64_t tasks() const { return places_.size(); }
  /// Capacity of each chunk of a task. \pre task < tasks()
  [[nodiscard]] std::uint64_t chunk_bytes(std::uint64_t task) const;

  /// Appends to a task's stream, filling its chunks to the last byte.
  /// Errors: kInvalidArgument (no such task; chunks of size 0; beyond 63 bits), kIo, kNoSpace.
  Status append(std::uint64_t task, std::span<const std::byte> bytes);
  /// Appends as SIONlib does: what does not fit behind the bytes already there goes to the next
  /// chunk as a whole. Errors also: kInvalidArgument (more than a chunk holds; nothing is written).
  Status write_record(std::uint64_t task, std::span<const std::byte> bytes);
  /// Leaves the rest of the current chunk unused; the next bytes go to the task's next one.
  Status begin_block(std::uint64_t task);

  /// META2, sync, the last 12 bytes of META1, sync, close: sub-files first, file 0 last.
  Status finish();

 private:
  struct Physical {
    Meta1 meta1;
    Meta2 meta2;
    SionLayout layout;
  };
  /// Where a task's next byte goes.
  struct Position {
    std::uint64_t block = 0;
    std::uint64_t used = 0;
  };

  Status plan(const SionWriterOptions& options, const std::string& name,
              std::span<const SionTask> tasks);
  Status check_task(std::uint64_t task) const;
  Status put(std::uint64_t task, std::span<const std::byte> bytes);
  Status finish_file(std::uint32_t index);

  SionFileSet set_;
  SionStyle style_ = SionStyle::kParallel;
  bool even_blocks_ = false;
  SionMapping places_;
  std::vector<Physical> files_;
  std::vector<Position> positions_;
};

}  // namespace bento
