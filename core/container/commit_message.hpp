// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What ranks bring to a commit, merged on the way up the tree: neighbours that agree become one,
/// so that the owner gets what differs and no more. Nothing here is stored.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "core/base/error.hpp"
#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/comm/communicator.hpp"
#include "core/layout/chunk_fill.hpp"
#include "core/records/record.hpp"
#include "core/steps/uncertain_order.hpp"

namespace bento {

/// How full the chunks of `count` neighbouring writers are, all the same.
struct FillRun {
  std::uint32_t writer = 0;
  std::uint32_t count = 0;
  ChunkFill fill;
};

/// Of one rank, or of a range of ranks.
struct CommitMessage {
  Status status;                         ///< the first failure; names its rank
  std::uint32_t first_rank = 0;          ///< of the range
  std::uint64_t collective = 0;          ///< of the first rank
  std::uint64_t operation_hash = 0;      ///< of the first rank
  std::optional<std::uint32_t> differs;  ///< the first rank with another count or hash
  std::vector<FillRun> fills;            ///< of writers that have begun, ascending
  std::uint64_t new_bytes = 0;           ///< StreamWriter::new_bytes() of all ranks
  std::set<DatasetNumber> partial;       ///< of which some rank has written some members only
  std::set<DatasetNumber> gapped;        ///< of which some rank has written boxes with gaps
  Bytes member_writes;                   ///< decode_member_writes(); if the owner asked for them
  std::vector<ClockRun> clocks;          ///< of ranks of several nodes, with exact times
  /// Datasets that no link leads to and no rank has open; nothing unless all ranks have looked.
  std::optional<std::set<DatasetNumber>> unreachable;
  Bytes entries;  ///< contribution to the step index
};

/// What the owner asks for in a second round; empty in the first one.
struct SecondRound {
  std::set<DatasetNumber> exact_times;
  std::set<DatasetNumber> member_writes;
  std::set<DatasetNumber> gapped;  ///< whose gaps do not count
};

/// What the owner sends back.
enum class CommitAnswer : std::uint8_t { kVerdict, kAgain, kDiverged };

/// A list of datasets in a message between ranks.
void put_datasets(ByteWriter& out, const std::set<DatasetNumber>& datasets);
/// Errors: kCorrupt.
Result<std::set<DatasetNumber>> get_datasets(ByteReader& in);

Bytes encode(const CommitMessage& message);
/// Errors: kCorrupt.
Result<CommitMessage> decode_commit_message(std::span<const std::byte> bytes);
/// Communicator::Merge. A message that cannot be merged becomes its status.
Bytes merge_commit_messages(std::span<const std::byte> lower, std::span<const std::byte> higher);

}  // namespace bento
