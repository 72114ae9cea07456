// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Block headers of a stream that are damaged, rebuilt from what the index knows; and blocks that
/// lie behind the committed end of a stream, which were written and never committed. Source:
/// docs/format.md, "A rank's stream", "Recovery".
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/fti/checksum.hpp"
#include "core/layout/chunk_fill.hpp"
#include "core/records/record.hpp"
#include "core/stream/stream_walk.hpp"

namespace bento {

/// Something found in a writer's stream, by file and address.
struct StreamSpot {
  std::uint32_t writer = 0;
  std::string file;           ///< physical file
  std::uint64_t address = 0;  ///< of a block's head, in that file
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;  ///< of data
  std::set<DatasetNumber> datasets;
};

/// Blocks that could not be read, and what became of them.
struct RepairedStream {
  std::vector<StreamSpot> rebuilt;  ///< `records` of them are the index's
  std::vector<StreamSpot> beyond_repair;
};

/// Goes through one writer's committed blocks. A header that cannot be read, or contradicts the
/// index, is written anew: with the index's records where they are, and fillers over what the index
/// does not know (dead containers). A hash that the index does not have is that of the bytes found.
/// `records` are those of this writer that some kept step shows, by position. Errors: kIo,
/// kNoSpace.
Result<RepairedStream> repair_stream(const StreamPlace& place, const ChunkFill& fill,
                                     std::span<const Record> records);

/// Whole blocks behind the end of `fill`, in the chunk that it ends in and in those behind: the
/// records of a session that ended before its commit. Absent if there are none. Errors: kIo.
Result<std::vector<StreamSpot>> find_uncommitted(const StreamPlace& place, const ChunkFill& fill);

}  // namespace bento
