// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Verifies the stream of every writer in place: as FTI-FF by our rules, and against the index.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/fti/finding.hpp"
#include "core/io/file.hpp"
#include "core/layout/plan.hpp"

namespace bento {

struct StreamFinding {
  std::uint32_t writer = 0;
  std::string file;           ///< physical file that holds the byte
  std::uint64_t address = 0;  ///< in that file, of the first byte that may be wrong
  fti::Finding finding;       ///< its offsets count in the writer's logical stream
  Position position = 0;      ///< of that byte, in the writer's chunks
};

struct StreamsVerdict {
  std::uint64_t streams = 0;            ///< that were verified
  std::uint64_t records = 0;            ///< of the index, compared with what their containers say
  std::uint64_t unhashed = 0;           ///< containers with content and without a hash
  std::uint64_t count = 0;              ///< of all findings
  std::vector<StreamFinding> findings;  ///< the first fti::Findings::kKept of each writer

  [[nodiscard]] bool sound() const { return count == 0; }
};

struct VerifyStreamsOptions {
  unsigned jobs = 1;  ///< streams that are verified at the same time, each by a thread
  /// Told of bytes that were read, by any of the threads.
  std::function<void(std::uint64_t bytes)> progress;
};

/// Reads all data of a committed container once. In one that was not closed (its program was
/// killed, or runs) file blocks and the marks of dead containers may lag behind: they are not
/// judged there. Memory: the index, and for each job about 120 bytes per container of one stream.
/// Damage gives findings. Errors: those of OfflineContainer::open, kUnsupported (more containers
/// than core/fti reads), kIo.
Result<StreamsVerdict> verify_streams(const std::string& path,
                                      const FileOpener& opener = &open_posix_file,
                                      const VerifyStreamsOptions& options = {});

}  // namespace bento
