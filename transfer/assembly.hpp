// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A container that is made anew on its way, as one file or as an ordinary HDF5 file. What does
/// that needs HDF5, of which this folder knows nothing, so the program hands it to the daemon.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/io/assembly_journal.hpp"
#include "core/io/file.hpp"
#include "transfer/arrive.hpp"

namespace bento::transfer {

/// How far an assembly is.
struct AssemblyProgress {
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  /// If set: for each physical file of the source, how much of its beginning is read no more, now
  /// and after a kill, once what the journal was told so far is stored.
  std::function<std::vector<std::uint64_t>()> source_done;
};

struct Assembly {
  Arrive arrive = Arrive::kNative;
  std::string source;  ///< the container
  std::string target;  ///< where it is made: a file for kNative, for kOneFile nothing yet
  std::string called;  ///< the name that it shall get
  FileOpener opener;   ///< for the files of both: keeps the limits, and fails when all shall stop
  AssemblyJournal* journal = nullptr;    ///< for kNative: of the target
  AssemblyProgress* progress = nullptr;  ///< kept up to date
};

/// Reads the newest step of the source, held against its checksums, and makes the target; what the
/// journal says of that is not made again. After an error there may be a part of it. Errors:
/// kCorrupt (the source), kIo, kNoSpace, kPermission (its view was changed by another program),
/// kUnsupported, kInternal.
using Assembler = std::function<Status(const Assembly&)>;

/// The native view of a container that came together from the caches of several nodes: none of them
/// could make it. Settings as of the connector; 0: the defaults.
struct ViewWish {
  bool wanted = false;
  std::uint64_t maps = 0;
  std::uint64_t copy_bytes = 0;
};
/// Builds it in the container `path`. Errors: kCorrupt, kIo, kNoSpace; kUnsupported and others cost
/// the view alone.
using ViewMaker = std::function<Status(const std::string& path, const ViewWish& wish)>;

}  // namespace bento::transfer
