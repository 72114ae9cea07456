// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The streams of a joined container as the ordinary HDF5 files that they are. Not collective.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace bento {

struct ExportedStreamFile {
  std::string name;  ///< by which the program knows it
  std::uint32_t task = 0;
  std::string path;  ///< where it is now
  std::uint64_t bytes = 0;
  bool cut = false;      ///< its process was killed while it wrote
  bool renamed = false;  ///< no file could have its name beside the others
};

struct ExportJoinedOptions {
  std::function<void(std::uint64_t bytes)> total;     ///< how many there are, once
  std::function<void(std::uint64_t bytes)> progress;  ///< gets the bytes copied since its last call
};

/// Writes each stream into a file below `folder`, which exists, under its own name; folders are
/// made as they are needed, and `..` in a name becomes `__`, so that nothing lies outside. A name
/// that leads to the file of another stream, or through it, or that no file system takes, becomes
/// `task-K`. Zeros stay holes; 1 MiB of memory; nothing is synced. After an error what was made
/// stays. Errors: kBusy (somebody writes the container), those of inspect_joined(), those of the
/// files.
Result<std::vector<ExportedStreamFile>> export_joined(const std::string& path,
                                                      const std::string& folder,
                                                      const ExportJoinedOptions& options = {});

}  // namespace bento
