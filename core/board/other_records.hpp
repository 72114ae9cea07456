// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What this rank knows of what the other ranks have written since the last commit or exchange:
/// their boards, read as far as they go. Waits for nobody's help, but for what comes over the
/// network. Task-local.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/board/board_log.hpp"
#include "core/board/board_memory.hpp"
#include "core/board/other_board.hpp"
#include "core/board/remote_nodes.hpp"
#include "core/records/index.hpp"

namespace bento {

class OtherRecords {
 public:
  /// What this rank knows of the datasets, which others may have made or removed before it does.
  struct Metadata {
    std::function<bool(DatasetNumber)> removed;
    /// Changes of extent since the last commit.
    std::function<std::span<const ExtentEvent>()> extents;
  };

  /// `ranks`: those of the node, by ascending rank; this one is `mine`, an index of them. `remote`:
  /// those of other nodes, null if there are none. It, the heads and the descriptor must outlive
  /// this.
  OtherRecords(int descriptor, NodeHead& node, std::span<RankHead> heads,
               std::vector<std::uint32_t> ranks, std::uint32_t mine, RemoteNodes* remote,
               Metadata metadata);

  /// Reads what is new. If nothing is, costs next to nothing within the node, and one small fetch
  /// if there are others. Errors: kCorrupt, kNoSpace, kPeer.
  Status catch_up() {
    const std::uint64_t now = node_->counter.load(std::memory_order_acquire);
    if (now != counter_) BENTO_TRY(read_logs(now));
    return remote_ == nullptr ? Status{} : read_remote();
  }
  /// Is there nothing that catch_up() has not seen? Maps no memory and makes no call, so of other
  /// nodes it does not know.
  [[nodiscard]] bool caught_up() const;
  /// All records, with positions of their own. Those that still gather with their rank have places
  /// that in_buffer() tells.
  [[nodiscard]] const Index& index() const { return index_; }
  /// Grows whenever catch_up() has found something.
  [[nodiscard]] std::uint64_t learnt() const { return learnt_; }
  [[nodiscard]] bool any(DatasetNumber dataset) const { return index_.size(dataset) != 0; }
  /// When the parts of a record were written; null if it did not grow.
  [[nodiscard]] const WriteTimes* times_of(DatasetNumber dataset, std::size_t position) const;
  /// A rank that has not published yet all that it writes up to the call with this collective
  /// count, if any; or, if not `written`, one that has not come to it. Errors: kPeer.
  [[nodiscard]] Result<std::optional<std::uint32_t>> behind(std::uint64_t collective,
                                                            bool written) const;
  /// Which elements of a record were written; null if all.
  [[nodiscard]] const RecordGaps* gaps_of(DatasetNumber dataset, std::size_t position) const;
  /// Chunk size of the container's layout, as soon as some rank has fixed it; 0 before.
  [[nodiscard]] std::uint64_t chunk_bytes() const;

  /// Do the bytes of the record gather with another rank?
  [[nodiscard]] static bool in_buffer(const Location& where) {
    return (where.offset & kOtherBuffer) == kOtherBuffer;
  }
  /// The record as it is now. Nothing if it is not what it was: find it anew.
  [[nodiscard]] std::optional<Record> now(const Location& where) const;
  /// The record that lies there in the file; nothing if it is no uncommitted one.
  [[nodiscard]] std::optional<Record> placed(const Location& where) const;
  /// How many records in the file were written anew in their places so far.
  [[nodiscard]] std::uint64_t rewritten() const { return rewritten_; }
  /// Calls `use` with the bytes of a record in a buffer, and says whether they were there all the
  /// time. If not, catch_up() knows more. Errors: kNoSpace, kPeer.
  Result<bool> with_bytes(const Location& where,
                          const std::function<void(std::span<const std::byte>)>& use);

  /// The same change on this rank's side.
  Status clip(const ExtentEvent& event);
  void remove(DatasetNumber dataset);
  /// After a commit or an exchange: all that others wrote before is known in another way.
  void next_epoch();

 private:
  static constexpr std::uint64_t kOtherBuffer = std::uint64_t{3} << 62;
  static constexpr std::size_t kNone = ~std::size_t{0};
  struct Known {
    DatasetNumber dataset = 0;
    std::size_t position = kNone;  ///< in index_
    BufferPlace place;
    bool buffered = false;
  };
  struct Other {
    std::uint32_t rank = 0;
    std::unique_ptr<OtherBoard> board;
    LogReader reader;
    std::uint64_t read = 0;   ///< of the log
    std::uint64_t first = 0;  ///< number of the first of known: those before are void
    std::deque<Known> known;
  };

  Status read_logs(std::uint64_t counter);
  Status read_remote();
  Other& add_other(std::uint32_t rank, std::unique_ptr<OtherBoard> board);
  Status read_log(Other& other);
  Status apply(Other& other, LogEntry& entry);
  Status add(Other& other, const LogEntry& entry);
  Status grow(Other& other, const LogEntry& entry);
  Status replace(Other& other, const LogEntry& entry);
  Status rewrite(Other& other, const LogEntry& entry);
  Status move(Other& other, LogEntry& entry);
  Status note_gaps(Other& other, const LogEntry& entry);
  Status join(Other& other, const LogEntry& entry);
  Status drop(Other& other, const LogEntry& entry);
  void restart(Other& other);
  Result<std::size_t> put(const Record& record);
  Result<Known*> known(Other& other, std::uint64_t number);
  const Known* find(const Location& where) const;
  void hide(const Known& one);

  NodeHead* node_;
  std::vector<const RankHead*> heads_;  ///< of the other ranks of the node
  RemoteNodes* remote_;
  Metadata metadata_;
  std::deque<Other> others_;  ///< those of the node, then those of others that have written
  std::vector<std::size_t> place_of_;  ///< rank -> others_, or kNone
  std::uint32_t epoch_ = 0;
  std::uint64_t counter_ = 0;  ///< as of the last look
  std::uint64_t learnt_ = 0;
  std::uint64_t rewritten_ = 0;
  Index index_;
  std::map<std::pair<DatasetNumber, std::size_t>, WriteTimes> times_;
  std::map<std::pair<DatasetNumber, std::size_t>, SharedGaps> gaps_;
};

}  // namespace bento
