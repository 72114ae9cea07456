// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The elements of one dataset that one writer's stream holds and that can be seen, in row-major
/// order whatever order they were written in: what FTI calls a variable of that rank.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/fti/checksum.hpp"
#include "core/offline/offline.hpp"
#include "core/records/record.hpp"
#include "core/stream/stream_walk.hpp"

namespace bento {

/// Stored bytes of a filtered record to its elements, in row-major order of its box.
using DecodeRecord = std::function<Result<std::vector<std::byte>>(const Record& record,
                                                                  std::vector<std::byte> stored)>;

/// A part of a record that can be seen.
struct SharePart {
  Record record;
  Box part;
};

class RankShare {
 public:
  /// `parts` are disjoint and lie in the stream at `place`; `decode` may be empty if none of them
  /// is filtered. All arguments outlive this.
  RankShare(fti::HashKind hash, StreamPlace place, std::uint64_t element_bytes,
            std::vector<SharePart> parts, const DecodeRecord& decode);

  /// Fills `into` with the next bytes; asked for no more than there are. Each record is verified as
  /// a whole before the last of its bytes is given out. Of a filtered one all elements are held
  /// while its rows are needed. Errors: kCorrupt (a record does not have its hash: names file, byte
  /// and writer), kIo, those of `decode`.
  Status read(std::span<std::byte> into);

 private:
  struct Cursor {
    SharePart share;
    Dims at;                      ///< first element of the next row
    std::uint64_t left = 0;       ///< elements
    bool contiguous = false;      ///< the part is one run of the record
    bool opened = false;          ///< verified, or decoded
    std::vector<std::byte> held;  ///< all elements if filtered, else what was read ahead
    std::uint64_t held_from = 0;  ///< where in the record these begin, in bytes
  };
  struct Later {
    const std::vector<Cursor>* cursors;
    bool operator()(std::size_t a, std::size_t b) const;
  };

  [[nodiscard]] std::string where(const Record& record) const;
  [[nodiscard]] Status check(const Record& record, const Hash128& found) const;
  [[nodiscard]] bool ends_before(const Cursor& cursor, const Cursor& other) const;
  Status next_run();
  Status open(Cursor& cursor);
  Status fetch(Cursor& cursor, std::uint64_t from, std::span<std::byte> into);

  fti::HashKind hash_;
  StreamPlace place_;
  std::uint64_t element_bytes_;
  const DecodeRecord& decode_;
  std::vector<Cursor> cursors_;
  std::priority_queue<std::size_t, std::vector<std::size_t>, Later> order_;
  std::set<Location> verified_;

  // The run that is being given out.
  std::size_t current_ = 0;
  std::uint64_t run_from_ = 0;  ///< in the record, in bytes
  std::uint64_t run_left_ = 0;
  std::optional<fti::ChunkHasher> hasher_;  ///< the run is a whole plain record
};

}  // namespace bento
