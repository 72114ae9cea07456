// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Looking at a joined container as a whole, and finishing one whose last writer was killed. Not
/// collective.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace bento {

struct JoinedStreamInfo {
  std::string name;  ///< of the file, relative to the container's folder
  std::uint32_t task = 0;
  std::uint32_t rank = 0;   ///< that created it
  std::uint64_t bytes = 0;  ///< of a stream that was cut off all that it may have
  bool writing = false;     ///< a process changes it, or was killed while it did
};

struct JoinedReport {
  std::uint32_t tasks = 0;
  std::uint32_t files = 0;
  std::uint64_t chunk_bytes = 0;
  std::string job;                        ///< that uses or used it last
  bool finished = false;                  ///< SION readers can read it
  bool in_use = false;                    ///< some process may write it
  std::vector<JoinedStreamInfo> streams;  ///< of the tasks that have one, in task order
};

/// What the container says. Takes no lock, so a container in use may change meanwhile.
/// Errors: kNotFound, kExists (another file), kCorrupt, kIo.
Result<JoinedReport> inspect_joined(const std::string& path);

/// Makes a SION container of what killed processes have left, gives each file the superblock that
/// keeps stock HDF5 away, and reports what it is then; `writing` is still set for streams that were
/// cut off: each is what a killed process leaves of an ordinary HDF5 file. Changes nothing of a
/// container that is whole. Errors: kBusy (in use), and as inspect_joined().
Result<JoinedReport> repair_joined(const std::string& path, double timeout);

}  // namespace bento
