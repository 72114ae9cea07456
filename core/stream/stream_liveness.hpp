// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// At close the streams learn which of their records nobody can see any more: the owner finds them
/// in the index, every rank marks them in its share of the streams. Source: docs/format.md, "A
/// rank's stream".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/catalogue/committed_index.hpp"
#include "core/comm/communicator.hpp"
#include "core/stream/fti_shares.hpp"
#include "core/stream/stream_walk.hpp"

namespace bento {

/// Datasets of which records may have died since the streams were last marked. On the owner only.
class TouchedDatasets {
 public:
  /// Nothing is known about how the streams were left, so all are marked anew.
  void assume_all() { all_ = true; }
  /// A commit has written over records of it, changed its extent, or deleted it with its records.
  void note(DatasetNumber dataset) { datasets_.insert(dataset); }
  [[nodiscard]] bool all() const { return all_; }
  [[nodiscard]] bool contains(DatasetNumber dataset) const {
    return all_ || datasets_.contains(dataset);
  }
  [[nodiscard]] const std::set<DatasetNumber>& datasets() const { return datasets_; }

 private:
  std::set<DatasetNumber> datasets_;
  bool all_ = false;
};

/// Which records stay alive, for the datasets and writers that have dead ones.
struct LivenessPlan {
  bool all = false;                ///< every dataset, of which only the live records are known
  bool older_kept = false;         ///< older steps can be read: the dead keep their hashes for them
  std::set<DatasetNumber> marked;  ///< the datasets to mark, unless all
  /// Per writer with something to mark: positions of the live records of the marked datasets,
  /// ascending.
  std::map<std::uint32_t, std::vector<Position>> live;
  /// Where streams are for FTI, at a close: what decides about their gates. Then every writer has
  /// something to mark.
  std::optional<FtiShares> shares;

  [[nodiscard]] bool empty() const { return live.empty(); }
};

inline constexpr std::uint64_t kAnyRecords = ~std::uint64_t{0};

/// Owner: as of the step that `committed` shows. `datasets` are those that exist, ascending. The
/// plan is empty where no records overlap and nothing was deleted, and where the touched datasets
/// have more than `most_records`.
Result<LivenessPlan> plan_liveness(CommittedIndex& committed,
                                   std::span<const DatasetDeclaration> datasets,
                                   const TouchedDatasets& touched, std::uint32_t writers,
                                   std::uint64_t most_records = kAnyRecords);

/// Owner, at a close of a container whose streams are for FTI: adds the shares. If the index cannot
/// be asked, all gates stay closed.
void plan_gates(CommittedIndex& committed, std::span<const DatasetDeclaration> datasets,
                std::uint32_t writers, LivenessPlan& plan);

/// What a session that died has left dead in a stream, so that the next one can use the space:
/// containers that `plan`, of all datasets as of absolute step `step`, does not know, and that were
/// written when `since` was committed. Changes no other field than
/// hascontent, chunksize, hash and step; the close does the rest. Task-local; nobody else may write
/// this stream. Errors: as mark_stream().
Status mark_left(const StreamPlace& place, const ChunkFill& fill, const LivenessPlan& plan,
                 std::uint64_t step, std::uint64_t since);

/// For the broadcast; an empty plan takes no bytes, and neighbouring writers whose records lie in
/// the same places are told of once.
Bytes encode_liveness(const LivenessPlan& plan);
/// Of `writers`, ascending, alone: a rank keeps what it marks. Errors: kCorrupt.
Result<LivenessPlan> decode_liveness(std::span<const std::byte> bytes,
                                     std::span<const std::uint32_t> writers);

/// What the session that marks a stream knows of it.
struct StreamEnd {
  std::span<const Position> orphans;  ///< records that no index knows
  bool written = false;               ///< this session wrote blocks of the stream
  std::uint64_t step = 0;             ///< absolute step of the close
  std::uint64_t time_ns = 0;
};

/// Marks one writer's stream: hascontent, chunksize, hash and step of containers that died, dptr of
/// those behind them, the gate, then FB. Only records that differ are written. Task-local; nobody
/// else may write this stream.
/// Errors: kIo, kNoSpace, kCorrupt (blocks that contradict their chunk).
Status mark_stream(const StreamPlace& place, const ChunkFill& fill, const LivenessPlan& plan,
                   const StreamEnd& end);

}  // namespace bento
