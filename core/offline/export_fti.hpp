// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The newest step of a container as ordinary FTI-FF rank files, one per writer, which FTI accepts
/// on a restart whatever hashes the container has. Source: docs/formats/fti-ff.md, sections 1, 3
/// and 5.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/fti/model.hpp"
#include "core/io/file.hpp"
#include "core/offline/rank_share.hpp"

namespace bento {

struct ExportFtiOptions {
  fti::Layout layout = fti::Layout::kV16;  ///< of the FTI that shall restart from it
  std::int32_t ckpt_id = 1;                ///< in the names and, with 1.6, in the files
  std::uint64_t timestamp_ns = 0;          ///< CLOCK_REALTIME
  DecodeRecord decode;                     ///< none: filtered records are refused
  FileOpener read = &open_posix_file;      ///< opens the container
  FileOpener write = &open_posix_file;     ///< creates the rank files
};

struct ExportedRank {
  std::string path;
  std::uint64_t containers = 0;
  std::uint64_t bytes = 0;  ///< of the file
};

/// Writes FOLDER/CkptC-RankR.fti for each writer R; FOLDER must exist. A file is what FTI itself
/// would have written as its first checkpoint: one block, and in it a container for each dataset
/// that any writer holds something of. id = dataset number, ascending; idx = its place among them,
/// the order in which a program must protect them. The container holds the elements of the dataset
/// that lie in this writer's stream and can be seen, in row-major order, whatever order and pieces
/// they were written in; none if there are none. The data are verified on the way, one MiB at a
/// time (a filtered record is held whole); nothing is synced.
/// Errors: those of OfflineContainer::open; kCorrupt (a record that does not have its hash, or lies
/// outside its chunk: names file, byte and writer); kUnsupported (a filtered record without
/// `decode`; a dataset number beyond FTI's ids); those of the files. After an error the last file
/// is incomplete.
Result<std::vector<ExportedRank>> export_fti(const std::string& path, const std::string& folder,
                                             const ExportFtiOptions& options = {});

}  // namespace bento
