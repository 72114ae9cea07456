// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A container that is made anew on its way, as one file or as an ordinary HDF5 file. What does
/// that needs HDF5, of which this folder knows nothing, so the program hands it to the daemon.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/base/error.hpp"
#include "core/io/file.hpp"
#include "transfer/arrive.hpp"

namespace bento::transfer {

struct Assembly {
  Arrive arrive = Arrive::kNative;
  std::string source;  ///< the container
  std::string target;  ///< where it is made: an empty file for kNative, for kOneFile nothing yet
  std::string called;  ///< the name that it shall get
  FileOpener opener;   ///< for the files of both: keeps the limits, and fails when all shall stop
  /// Told now and then how far it is.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

/// Reads the newest step of the source, held against its checksums, and makes the target; syncs
/// nothing. After an error there may be a part of it. Errors: kCorrupt (the source), kIo, kNoSpace,
/// kPermission (its view was changed by another program), kUnsupported, kInternal.
using Assembler = std::function<Status(const Assembly&)>;

}  // namespace bento::transfer
