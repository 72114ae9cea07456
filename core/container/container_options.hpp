// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How a container is created, opened and written.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/io/file.hpp"
#include "core/io/file_lock.hpp"
#include "core/io/striping.hpp"
#include "core/layout/plan.hpp"
#include "core/records/record.hpp"
#include "core/steps/step.hpp"
#include "core/stream/record_reader.hpp"
#include "core/stream/stream_writer.hpp"

namespace bento {

/// What a commit survives.
enum class Durability {
  kProcess,  ///< the death of processes
  kPower,    ///< of nodes too: all ranks sync, then the root is synced
};

struct ContainerOptions {
  std::uint32_t files = 1;  ///< physical files of a new container
  std::uint64_t chunk_bytes =
      0;  ///< chunk size of a new container, 0: from what the program declares
  StreamOptions stream;
  /// Of new physical files. With a number of bytes their chunks begin at multiples of it.
  Striping striping;
  Verification verify = Verification::kSmall;  ///< what is held against its hash when it is read
  Durability durability = Durability::kProcess;
  /// Steps that stay readable, the newest included; 0: all.
  std::uint64_t keep = 1;
  /// Open for reading as of this kept step; absent: the newest.
  std::optional<AbsoluteStep> step;
  /// Each commit leaves a native view, and what it shows is kept for so many seconds after a newer
  /// one.
  bool view_at_commits = false;
  double view_grace = 60;
  /// A native view that cannot be made fails the close, and the one that is there stays.
  bool view_required = false;
  /// Ranks see what others have written before it is committed, where they can.
  bool share_uncommitted = false;
  /// Where they cannot, the file is not opened.
  bool must_share = false;
  double timeout_s = 300;  ///< for which a rank waits for others in MPI's atomic mode, 0: for ever
  bool minmax = false;     ///< keep smallest and largest value of each record that brings them
  /// Bytes that a physical file should not grow beyond: data goes on in new ones.
  std::uint64_t logical_limit = kMaxLogicalBytes;
  Locking lock = Locking::kBestEffort;  ///< of physical file 0 when opened for writing
  /// False where one process plays all ranks (bench/scale): then what the node's first rank holds
  /// is not handed to the others of the node.
  bool ranks_are_processes = true;
  /// Open for writing although another program changed the native view: the next close replaces it.
  bool drop_edited_view = false;
  FileOpener opener = &open_posix_file;
  /// Where the same files may come to be while they are read; empty: nowhere else.
  std::string other_name;
  /// The new container's files are spread over nodes (core/spread): `opener` opens what is common
  /// in them, and streams are read and written in others.
  struct Spread {
    FileOpener stream_opener;
    /// Fails, saying why, if the stream of this rank is not on this node.
    std::function<Status(std::uint32_t rank)> stream_is_here;
  };
  std::optional<Spread> spread;
};

/// How errors of a commit call a dataset: its path, empty if it has none. Without it: its number.
using DatasetNames = std::function<std::string(DatasetNumber)>;

}  // namespace bento
