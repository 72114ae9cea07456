// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Verifies the stream of every writer in place: as FTI-FF by our rules, and against the index.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/fti/finding.hpp"
#include "core/io/file.hpp"

namespace bento {

struct StreamFinding {
  std::uint32_t writer = 0;
  std::string file;           ///< physical file that holds the byte
  std::uint64_t address = 0;  ///< in that file, of the first byte that may be wrong
  fti::Finding finding;       ///< its offsets count in the writer's logical stream
};

struct StreamsVerdict {
  std::uint64_t streams = 0;   ///< that were verified
  std::uint64_t records = 0;   ///< of the index, compared with what their containers say
  std::uint64_t unhashed = 0;  ///< containers with content and without a hash, among hashed ones
  std::uint64_t count = 0;     ///< of all findings
  std::vector<StreamFinding> findings;  ///< the first fti::Findings::kKept of each writer

  [[nodiscard]] bool sound() const { return count == 0; }
};

/// Reads all data of a committed container once. In one that was not closed (its program was
/// killed, or runs) file blocks and the marks of dead containers may lag behind: they are not
/// judged there. Memory: the index, and about 120 bytes per container of one stream. Damage gives
/// findings. Errors: those of OfflineContainer::open, kUnsupported (more containers than core/fti
/// reads), kIo.
Result<StreamsVerdict> verify_streams(const std::string& path,
                                      const FileOpener& opener = &open_posix_file);

}  // namespace bento
