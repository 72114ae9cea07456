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
  /// `all`: by rank. `memory` must outlive this.
  RemoteNodes(RemoteMemory& memory, const RankGroups& nodes, std::uint32_t mine,
              std::vector<Addresses> all);

  /// Ranks whose log words are not what was noted of them, of which all others know by now; valid
  /// until the next call. If nothing is new, one fetch of 16 bytes a rank from each other node.
  /// Errors: kPeer.
  Result<std::span<const std::uint32_t>> look();
  /// The latest of the times of these ranks, by the same fetch. Errors: kPeer.
  Result<std::uint64_t> latest_time();
  /// The log word that look() found.
  [[nodiscard]] LogHead found(std::uint32_t rank) const;
  /// All up to what look() found of this rank is known.
  void note(std::uint32_t rank);
  /// Nothing is known of any.
  void forget();

  /// Bytes of a rank's log, which its head must cover; valid until the next call of log() or
  /// area(). Errors: kPeer.
  Result<std::span<const std::byte>> log(std::uint32_t rank, std::uint64_t from, std::uint64_t to);
  /// Bytes of a record that gathers with a rank; empty if they were no longer there at the end.
  /// Errors: as log().
  Result<std::span<const std::byte>> area(std::uint32_t rank, const BufferPlace& place,
                                          std::uint64_t bytes);
  /// Chunk size of the layout that was seen, 0 if none was.
  [[nodiscard]] std::uint64_t chunk_bytes() const { return chunk_bytes_; }
  /// A rank that has not published all up to this collective count. Fetches all heads. Errors:
  /// kPeer.
  Result<std::optional<std::uint32_t>> behind(std::uint64_t collective);

 private:
  struct Node {
    std::uint32_t leader = 0;
    std::vector<std::uint32_t> ranks;
    std::size_t first = 0;  ///< of its ranks in the tables
    std::uint64_t heads = 0;
    bool changed = false;
  };
  /// Words of a RankHead.
  static constexpr std::size_t kHeadWords = sizeof(RankHead) / sizeof(std::uint64_t);

  Status fetch_words();
  Status fetch_heads(bool only_changed);
  [[nodiscard]] std::uint64_t head_word(std::size_t at, std::size_t offset) const {
    return heads_[at * kHeadWords + offset / sizeof(std::uint64_t)];
  }
  bool mark_changed();
  [[nodiscard]] bool torn() const;
  Status fetch(std::uint32_t rank, std::uint64_t address, std::uint64_t from, std::uint64_t to);

  RemoteMemory* memory_;
  std::vector<Addresses> addresses_;
  std::vector<Node> nodes_;            ///< all but that of this rank
  std::vector<std::size_t> place_of_;  ///< rank -> its place in the tables
  std::vector<std::uint32_t> rank_at_;
  struct Word {
    std::uint64_t log = 0;
    std::uint64_t time_ns = 0;
  };
  std::vector<Word> words_;  ///< as of the last look
  std::vector<std::uint64_t> noted_;
  std::vector<std::uint64_t> heads_;
  std::vector<std::uint32_t> changed_;
  std::vector<std::byte> bytes_;
  std::uint64_t chunk_bytes_ = 0;
};

}  // namespace bento
