// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The boards of the ranks of other nodes, fetched from their memory without their help. What was
/// fetched is a copy: nothing here is written from afar. Task-local.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/board/board_log.hpp"
#include "core/board/board_memory.hpp"
#include "core/board/node_table.hpp"
#include "core/comm/communicator.hpp"
#include "core/comm/rank_groups.hpp"

namespace bento {

class RemoteNodes {
 public:
  /// Where each rank has its parts, in its own process.
  struct Addresses {
    std::uint64_t heads = 0;               ///< of the node; valid of its first rank
    std::array<std::uint64_t, 3> parts{};  ///< log, area 0, area 1
  };
  /// `all`: by rank. `memory` and `table` must outlive this.
  RemoteNodes(RemoteMemory& memory, NodeTable& table, const RankGroups& nodes, std::uint32_t mine,
              std::vector<Addresses> all);

  /// Ranks whose log words are not what was noted of them; valid until the next call. If the table
  /// has nothing new, costs a look at that, else a fetch of 8 bytes a rank from each node of which
  /// it has, and so on. Errors: kPeer.
  Result<std::span<const std::uint32_t>> look();
  /// The log word that look() found.
  [[nodiscard]] LogHead found(std::uint32_t rank) const;
  /// All up to what look() found of this rank is known.
  void note(std::uint32_t rank);
  /// An epoch begins: nothing is known of ranks whose logs were of that one already.
  void next_epoch(std::uint32_t epoch);

  /// Bytes of a rank's log, which its head must cover; valid until the next call of log() or
  /// area(). Errors: kPeer.
  Result<std::span<const std::byte>> log(std::uint32_t rank, std::uint64_t from, std::uint64_t to);
  /// Bytes of a record that gathers with a rank; empty if they were no longer there at the end.
  /// Errors: as log().
  Result<std::span<const std::byte>> area(std::uint32_t rank, const BufferPlace& place,
                                          std::uint64_t bytes);
  /// Chunk size of the layout that was seen, 0 if none was.
  [[nodiscard]] std::uint64_t chunk_bytes() const { return chunk_bytes_; }
  /// As OtherRecords::behind(). Fetches all heads. Errors: kPeer.
  Result<std::optional<std::uint32_t>> behind(std::uint64_t collective, bool written);

 private:
  struct Node {
    std::uint32_t leader = 0;
    std::vector<std::uint32_t> ranks;
    std::size_t first = 0;  ///< of its ranks in the tables
    std::uint64_t heads = 0;
    std::uint32_t number = 0;
    /// Of its entry in the table, when its words were fetched last.
    std::uint64_t count = kUnknown;
    std::size_t unread = 0;  ///< ranks that were found changed and not noted since
    bool stale = false;      ///< its words are to be fetched
    bool changed = false;
  };
  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
  /// Words of a RankHead.
  static constexpr std::size_t kHeadWords = sizeof(RankHead) / sizeof(std::uint64_t);

  bool mark_stale(std::span<const NodeTable::Entry> entries);
  Status fetch_words();
  Status fetch_heads(bool only_changed);
  [[nodiscard]] std::uint64_t head_word(std::size_t at, std::size_t offset) const {
    return heads_[at * kHeadWords + offset / sizeof(std::uint64_t)];
  }
  bool mark_changed();
  [[nodiscard]] bool torn() const;
  Status fetch(std::uint32_t rank, std::uint64_t address, std::uint64_t from, std::uint64_t to);

  RemoteMemory* memory_;
  NodeTable* table_;
  std::vector<Addresses> addresses_;
  std::vector<Node> nodes_;             ///< all but that of this rank
  std::vector<std::size_t> place_of_;   ///< rank -> its place in the tables
  std::vector<std::uint32_t> node_of_;  ///< rank -> its place in nodes_
  std::vector<std::uint32_t> rank_at_;
  std::vector<std::uint64_t> words_;  ///< as of the last look
  std::vector<std::uint64_t> noted_;
  std::vector<std::uint64_t> heads_;
  std::vector<std::uint32_t> changed_;
  std::vector<std::byte> bytes_;
  std::uint64_t chunk_bytes_ = 0;
};

}  // namespace bento
