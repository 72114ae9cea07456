// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A file, container or ordinary HDF5, copied into a new container that one process writes: so each
/// dataset lies in one piece as far as it was written, and nothing lies between.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/base/error.hpp"
#include "core/io/file.hpp"

namespace bento::vol {

struct CopySettings {
  /// Keys for the new container, as in a connector string: "minmax=on;view=off". They win over what
  /// is taken from the old one.
  std::string keys;
  /// Gets the bytes of elements copied since its last call; may be empty.
  std::function<void(std::uint64_t bytes)> progress;
  /// The new container is written into an empty file that is there, and keeps its permissions.
  bool into_empty_file = false;
  /// For the files of both; empty: those of the operating system.
  FileOpener opener;
};

struct CopyReport {
  std::uint64_t step = 0;   ///< of the container that was copied; 0: it is none
  std::uint64_t kept = 0;   ///< older steps that could be read there and are not in the copy
  std::size_t dropped = 0;  ///< references that lead to no object of the copy, and are null
};

/// Bytes that are about to be copied: of a container, what its newest step shows and its catalogue;
/// of another file, what it takes on the disk. Errors: those of Survey::open(); kCorrupt, kIo.
Result<std::uint64_t> bytes_to_copy(const std::string& from,
                                    const FileOpener& opener = &open_posix_file);

/// Copies the newest step of `from` into the new container `to`, which must not be there, or be
/// empty (CopySettings): all
/// objects, attributes, types, links, references, creation order, creation lists. Filtered chunks
/// are taken over as they are stored. What was never written stays so, but for gaps of up to 4 MiB
/// between what was. Elements of a container are held against their checksums. After an error there
/// may be a part of `to`. Nothing is synced. Errors: kCorrupt, kIo, kNoSpace, kExists,
/// kInvalidArgument (the keys), kBusy, kInternal (the library refused something; names the object).
Result<CopyReport> copy_into_container(const std::string& from, const std::string& to,
                                       const CopySettings& settings);

}  // namespace bento::vol
