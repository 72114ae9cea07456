// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Reads any SION container: serial or parallel, one physical file or many, either byte order. All
/// metadata is read and held against the file sizes when it is opened, which SIONlib itself does
/// not do; afterwards no read can leave a used chunk. Knows nothing of what the streams contain.
#pragma once

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

enum class SionScope {
  kContainer,  ///< all physical files if the named one is the master of several, else that file
               ///< alone
  kOneFile,    ///< the named file alone, also if it is a master
};

/// What is known of one physical file. Every used chunk lies inside the file.
struct SionFileInfo {
  std::uint64_t file_bytes = 0;
  Meta1 meta1;
  Meta2 meta2;
  SionLayout layout;
};

/// Reads and checks the metadata of one closed physical file.
/// Errors: as read_meta1 and read_meta2; kCorrupt (not closed; a used chunk outside the file).
Result<SionFileInfo> read_sion_file_info(File& file);

/// Not thread-safe: reads share open files and a cursor.
class SionReader {
 public:
  /// Errors: kNotFound (the container or one of its physical files), kCorrupt, kUnsupported, kIo;
  /// all name the physical file.
  static Result<SionReader> open(FileOpener opener, const std::string& name,
                                 SionScope scope = SionScope::kContainer);

  /// Tasks of the container, or of the file if it is read alone. Tasks are numbered by the mapping
  /// table; without one, by their place in the file.
  [[nodiscard]] std::uint64_t tasks() const { return mapping_.size(); }
  [[nodiscard]] std::uint32_t files() const { return static_cast<std::uint32_t>(files_.size()); }
  /// \pre index < files()
  [[nodiscard]] const SionFileInfo& file(std::uint32_t index) const { return files_[index]; }
  [[nodiscard]] const SionMapping& mapping() const { return mapping_; }
  [[nodiscard]] KeyvalMode keyval() const { return files_.front().meta1.keyval(); }

  // \pre task < tasks() for the four of these.
  [[nodiscard]] std::int64_t global_rank(std::uint64_t task) const;
  [[nodiscard]] std::uint64_t blocks(std::uint64_t task) const;
  [[nodiscard]] std::uint64_t chunk_used(std::uint64_t task, std::uint64_t block) const;
  [[nodiscard]] std::uint64_t stream_bytes(std::uint64_t task) const;

  /// Fills `into` from a chunk, beginning `offset` bytes behind its start.
  /// Errors: kInvalidArgument (no such task, or beyond the chunk's used bytes), kIo.
  Status read_chunk(std::uint64_t task, std::uint64_t block, std::uint64_t offset,
                    std::span<std::byte> into);

  /// Fills `into` from a task's logical stream: the used bytes of its chunks, one after the other.
  /// Going through a stream in pieces costs no search. Errors: kInvalidArgument (no such task, or
  /// beyond the end of the stream), kIo.
  Status read_stream(std::uint64_t task, std::uint64_t offset, std::span<std::byte> into);

  Status close() { return set_.close(); }

 private:
  /// A chunk and where in its stream it begins.
  struct Cursor {
    std::uint64_t task = 0;
    std::uint64_t block = 0;
    std::uint64_t begin = 0;
  };

  Status load(std::uint32_t index);
  Status load_others();
  Status check_task(std::uint64_t task) const;
  [[nodiscard]] const SionFileInfo& info_of(std::uint64_t task) const {
    return files_[mapping_[task].file];
  }
  [[nodiscard]] std::uint32_t local(std::uint64_t task) const { return mapping_[task].task; }

  SionFileSet set_;
  std::vector<SionFileInfo> files_;
  SionMapping mapping_;
  Cursor cursor_;
};

}  // namespace bento
