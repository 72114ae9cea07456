// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Where the bytes of one stream of a joined container lie. All chunks but the last are full, so an
/// offset in the stream needs no table to become an address in a physical file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/error.hpp"
#include "core/joined/joined_files.hpp"

namespace bento {

class JoinedPlace {
 public:
  /// Bytes side by side in the physical file.
  struct Run {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
  };

  /// `files` must outlive it.
  JoinedPlace(JoinedFiles& files, std::uint32_t task)
      : files_(&files),
        file_(files.plan().file_of(task)),
        local_task_(files.plan().local_task(task)) {}

  /// The physical file.
  [[nodiscard]] std::uint32_t file() const { return file_; }
  [[nodiscard]] const FilePlan& plan() const { return files_->plan().file(file_); }
  /// The first `bytes` from `offset` on, or as many as lie before the end of their chunk.
  [[nodiscard]] Run run_at(std::uint64_t offset, std::uint64_t bytes) const;
  /// Reads from a stream of `size` bytes; what lies beyond is zeros. Errors: kCorrupt (the physical
  /// file ends before the stream does: names file and offset), kNotFound (no such physical file),
  /// kIo.
  Status read(std::uint64_t size, std::uint64_t offset, std::span<std::byte> into) const;

 private:
  JoinedFiles* files_;
  std::uint32_t file_;
  std::uint32_t local_task_;
};

}  // namespace bento
