// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The ranks' streams of a closed container as files of their own, byte for byte as they lie: what
/// SIONlib's sionsplit would cut out. Source: docs/format.md, "A rank's stream".
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/io/file.hpp"

namespace bento {

/// The file of writer R: "rank-" and R with six digits at least.
std::string stream_file_name(std::uint64_t writer);

struct ExportedStream {
  std::string path;
  std::uint64_t bytes = 0;
};

struct ExportStreamsOptions {
  std::function<void(std::uint64_t bytes)> total;     ///< how many there are, once
  std::function<void(std::uint64_t bytes)> progress;  ///< gets the bytes copied since its last call
  FileOpener read = &open_posix_file;                 ///< opens the container
  FileOpener write = &open_posix_file;                ///< creates the files
};

/// Writes FOLDER/rank-R for each writer R; FOLDER must exist. A rank that wrote nothing gets an
/// empty file. Nothing is verified and nothing is synced; 1 MiB of memory.
/// Errors: kBusy (it is being written, or was not closed, so that headers and marks in the streams
/// are not those of its last step; says what to do), those of Survey::open, those of the files.
/// After an error what was made stays.
Result<std::vector<ExportedStream>> export_streams(const std::string& path,
                                                   const std::string& folder,
                                                   const ExportStreamsOptions& options = {});

}  // namespace bento
