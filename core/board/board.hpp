// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What a rank has written and no commit has stored yet, laid out for other ranks to read without
/// its help. Never waits for anybody. Task-local.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "core/base/error.hpp"
#include "core/board/board_log.hpp"
#include "core/board/board_memory.hpp"
#include "core/board/exposed_window.hpp"
#include "core/records/record.hpp"

namespace bento {

class Board {
 public:
  /// That of the `index`-th rank of the node. `descriptor` and the heads must outlive it.
  Board(int descriptor, std::uint32_t index, NodeHead& node, std::span<RankHead> heads);

  // For the ranks of other nodes, where there are any. Before anything else.

  /// `word`: this rank's behind the heads. Errors: kNoSpace.
  Status expose(RemoteMemory& remote, LogWord& word);
  /// Where the log and the two areas lie in this process.
  [[nodiscard]] std::array<std::uint64_t, 3> addresses() const {
    return {log_window_.address(), areas_[0].address(), areas_[1].address()};
  }
  /// Others may still read it: its memory stays mapped.
  void leave();

  // Which calls of all ranks this rank has come to, and whether others are still behind.

  void set_collective(std::uint64_t count);
  [[nodiscard]] std::uint64_t collective() const { return mine_->collective.load(); }
  /// Has every rank come to that call? Of ranks of other nodes only that is known which follows
  /// from the last commit or exchange.
  [[nodiscard]] bool all_came_to(std::uint64_t count) const;

  // The bytes of small records.

  /// Bytes that may gather in an area.
  [[nodiscard]] std::uint64_t most_gathered() const {
    return word_ == nullptr ? kMostBoardBytes : kMostExposedBytes / 4;
  }
  /// `bytes` bytes of the area in use. Valid until the next call. Throws std::bad_alloc.
  std::byte* reach(std::uint64_t bytes);
  [[nodiscard]] const std::byte* data() const { return areas_[area_].data(); }
  /// Nobody needs what is in the area any more, now that the log says where it is instead. Errors:
  /// as publish().
  Status empty_area();
  /// What gathers from now on does so in the other area; what is in this one stays. Errors: as
  /// publish().
  Status switch_area();

  // What becomes of records. Others learn of it when it is published.

  /// A record whose bytes are at `offset` of the area. Returns its number.
  std::uint64_t buffered(const Record& record, std::uint64_t offset, const WriteTimes& times);
  /// It is longer now: by `added` in this dimension.
  void grew(std::uint64_t number, unsigned dimension, std::uint64_t added, std::uint64_t time_ns) {
    log_.grew(number, dimension, added, time_ns);
  }
  void replaced(std::uint64_t number, const Order& order) { log_.replaced(number, order); }
  /// Returns its number.
  std::uint64_t placed(const Record& record);
  /// One that is in the file, in its place.
  void rewritten(std::uint64_t number, const Order& order, const Hash128& hash) {
    log_.rewritten(number, order, hash);
  }
  void moved(std::uint64_t number, std::span<const Record> placed) { log_.moved(number, placed); }
  /// It is part of a record with this box, and stands for that: moved() next, before anything is
  /// published. The other parts are gone().
  void joined(std::uint64_t number, const Box& box, const WriteTimes& times) {
    log_.joined(number, box, times);
  }
  void gone(std::uint64_t number) { log_.gone(number); }
  /// Only some elements of it were written. Before it is published.
  void gaps(std::uint64_t number, const RecordGaps& gaps) { log_.gaps(number, gaps); }
  /// All records so far are told of once more, or are gone.
  void restart() { log_.restart(); }

  /// All that is published next is earlier.
  void set_time(std::uint64_t time_ns) {
    if (word_ != nullptr) raise(node_->latest_ns, time_ns);
  }
  /// Others see what there is from now on. Errors: kNoSpace (the log is full, or memory is).
  Status publish();
  /// Has it published since shown()? Never where all ranks are on this node.
  [[nodiscard]] bool unshown() const { return unshown_; }
  /// Other nodes are told of all that was published.
  void shown() { unshown_ = false; }
  /// All that this rank writes up to this call, and in it, is published.
  void set_reached(std::uint64_t collective) {
    mine_->reached.store(collective, std::memory_order_release);
  }
  /// The layout of the container is fixed.
  void set_chunk_bytes(std::uint64_t bytes) { mine_->chunk_bytes.store(bytes); }
  /// After a commit or an exchange: everybody knows all that was written before. Nothing may gather
  /// in the area.
  void next_epoch();

 private:
  NodeHead* node_;
  std::span<RankHead> heads_;
  RankHead* mine_;
  ExposedWindow log_window_;
  ExposedWindow areas_[2];
  std::uint64_t used_[2] = {0, 0};  ///< bytes of each area that were asked for so far
  LogWord* word_ = nullptr;         ///< null: all ranks are on this node
  bool unshown_ = false;      ///< published, and not in the table of nodes for all that is known
  std::uint64_t all_at_ = 0;  ///< the call of all that all ranks have come to for certain
  bool all_known_ = false;    ///< false: the next one is that
  unsigned area_ = 0;
  LogWriter log_;  ///< not published yet
  LogHead head_;
  std::uint64_t next_ = 0;  ///< number of the next record
};

}  // namespace bento
