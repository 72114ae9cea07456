// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Looking at a joined container as a whole, and finishing one whose last writer was killed. Not
/// collective.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/joined/joined_files.hpp"

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
  JoinedView view = JoinedView::kNone;    ///< of physical file 0
  std::vector<JoinedStreamInfo> streams;  ///< of the tasks that have one, in task order
  std::vector<std::string> problems;      ///< physical files that a finished one lacks
};

/// Holds all that the container says of itself against its files: slots, headers, the ends of
/// streams, META2 where it is finished. What the HDF5 files in it hold has no checksums of ours.
/// Returns what is wrong, in sentences that name file and task. Errors: as inspect_joined().
Result<std::vector<std::string>> check_joined(const std::string& path);

/// What the container says. Takes no lock, so a container in use may change meanwhile.
/// Errors: kNotFound, kExists (another file), kCorrupt, kIo.
Result<JoinedReport> inspect_joined(const std::string& path);

/// Is it a container of the driver? No, where it cannot be read.
bool is_joined_container(const std::string& path);

/// Opens it to read, without any lock. Errors: as inspect_joined().
Result<JoinedFiles> open_joined(const std::string& path);

/// What is done with a container while nobody else joins, leaves or writes.
using JoinedWork = std::function<Status(JoinedFiles& files)>;

/// Runs `work` on a container that nobody writes, while all others wait. Errors: kBusy (in use),
/// those of inspect_joined() and of `work`.
Status alone_with_joined(const std::string& path, double timeout, const JoinedWork& work);

/// Makes a SION container of what killed processes have left, gives each file the superblock that
/// keeps stock HDF5 away, and reports what it is then; `writing` is still set for streams that were
/// cut off: each is what a killed process leaves of an ordinary HDF5 file. Changes nothing of a
/// container that is whole. `then`, if given, is done last, before anybody else may write. Errors:
/// kBusy (in use), and as inspect_joined().
Result<JoinedReport> repair_joined(const std::string& path, double timeout,
                                   const JoinedWork& then = {});

}  // namespace bento
