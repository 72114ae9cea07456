// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Small records of one rank that wait in memory until they share a block. A write of the same box
/// replaces the one before it, and a write that continues the last one makes its record longer: the
/// last one of all, where there are other ranks, and of a rank that is alone the dataset's last.
/// The index knows each record from the moment on when it is here. Makes no file call.
/// Source: docs/format.md, "A rank's stream".
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/key_table.hpp"
#include "core/board/gathered_bytes.hpp"
#include "core/geometry/joined_boxes.hpp"
#include "core/records/by_number.hpp"
#include "core/records/index.hpp"
#include "core/records/unwritten_elements.hpp"
#include "core/records/write_times.hpp"

namespace bento {

/// A record of this session that no commit has stored yet.
struct RecordSlot {
  DatasetNumber dataset;
  std::size_t position;  ///< in Index
};

/// With which other records that wait a write may become one.
enum class JoinsWith : std::uint8_t {
  kNone,
  kLast,  ///< it may make the last write's record longer
  kAny,   ///< and what it is part of may be joined with others before that goes out
};

/// How many elements of a box anybody has written.
using CountWritten = std::function<Result<std::uint64_t>(DatasetNumber, const Box&)>;

class RecordBuffer {
 public:
  struct Entry {
    RecordSlot slot{};
    std::uint64_t offset = 0;  ///< of its bytes in the buffer
    std::uint64_t bytes = 0;
    std::uint64_t room = 0;           ///< behind them, for what makes it longer
    std::uint64_t element_bytes = 0;  ///< 0: filtered, cannot be cut
    std::uint64_t key = 0;            ///< hash of dataset and box, until it grows
    WriteTimes times;                 ///< of its parts, if it grew and they are kept
    std::uint64_t number = 0;         ///< on the board
    bool grew = false;
    bool joins = false;  ///< with any
  };
  enum class Added {
    kNew,
    kReplaced,
    kGrew,
    kFull,  ///< nothing yet: the buffer is to go out first (limit_grown())
  };

  explicit RecordBuffer(Index& index) : index_(index) {}

  /// Remembers when the parts of records that grow were written.
  void keep_times() { keep_times_ = true; }
  /// Other ranks may read what is here, and learn what becomes of it. Before anything is.
  void share(Board* board) {
    board_ = board;
    buffer_.share(board);
  }
  /// The next write starts a record of its own: one that grew across another write would claim to
  /// be as late as its first part.
  void end_growth() {
    growing_ = false;
    last_.clear();
  }

  /// No record begins behind `others` bytes of records that grew, and none grows to more than
  /// `last` bytes. The same writes once more would not replace them, so nothing is won by keeping
  /// them.
  static constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};
  void limit_grown(std::uint64_t others, std::uint64_t last) {
    most_grown_ = others;
    longest_ = last;
  }

  /// Takes a copy of `data`, as `writer`. What became of it, and which record it is part of.
  /// `gaps`, if it is not null, says which elements of it count. Errors: those of Index::add().
  Result<Added> add(const Record& record, std::uint32_t writer, std::uint64_t element_bytes,
                    std::span<const std::byte> data, const RecordGaps* gaps, JoinsWith joins,
                    RecordSlot& slot);
  /// Drops what later writes have covered, so that the buffer holds each element at most once. All
  /// records of the index must be here; they get new places in it. Ranks that have not come to the
  /// latest call of all would miss something: not before may_compact(). Errors: those of the index.
  Status compact();
  [[nodiscard]] bool may_compact() const {
    return board_ == nullptr || board_->all_came_to(board_->collective());
  }
  /// Bytes after the last compact().
  [[nodiscard]] std::uint64_t compacted_bytes() const { return compacted_bytes_; }

  /// Puts the bytes of all records one behind the other: those that grew between others have been
  /// moved, and have room behind them. False if nothing was to be done, or there is no memory.
  bool squeeze();
  /// bytes() after that.
  [[nodiscard]] std::uint64_t squeezed_bytes() const { return held_bytes_; }
  /// No record is moved to get room from now on, until some of them are in the stream: a write that
  /// finds no room behind its dataset's record begins one of its own.
  void keep_places() { keeps_places_ = true; }

  /// A record that several which wait here make together.
  struct Joined {
    Record record;  ///< has no place yet
    std::uint64_t element_bytes = 0;
    std::uint64_t offset = 0;        ///< of its bytes in JoinedRecords::data
    WriteTimes times;                ///< of its parts, if they are kept
    std::vector<std::size_t> parts;  ///< in entries()
    /// Of what nobody has written, if some of that lies between them.
    std::optional<ValueRange> around;
  };
  struct JoinedRecords {
    std::vector<std::byte> data;  ///< one record behind the other
    std::vector<Joined> records;
  };
  /// Which records that may be joined with any make larger boxes, of up to `most_bytes`. Where only
  /// this rank writes, in whatever order they were written; else those of a dataset each of which
  /// continues the one before, as if it had grown. No record that is in the stream may have become
  /// later than one that is here. With small gaps between them if note_unwritten() has said what is
  /// there, and `written` finds nothing else.
  [[nodiscard]] JoinedRecords join(std::uint64_t most_bytes, const CountWritten& written) const;
  /// Records of this dataset may be joined over gaps, and note_unwritten() was not called for it.
  [[nodiscard]] bool asks_unwritten(DatasetNumber dataset) const {
    if (!alone() || entries_.size() < kFewest) return false;
    const std::uint64_t* const held = held_.find(dataset);
    return held != nullptr && *held >= kFewest && !unwritten_.contains(dataset);
  }
  void note_unwritten(DatasetNumber dataset, UnwrittenElements what) {
    unwritten_[dataset] = std::move(what);
  }
  /// These entries are in the stream now. Errors: as Board::publish().
  Status drop(const std::vector<bool>& these);

  /// Is the record that lies there in a buffer? Then read() gives its bytes, from `skip` on.
  [[nodiscard]] static bool holds(const Location& where) {
    return (where.offset & kBufferedBit) != 0;
  }
  void read(const Location& where, std::uint64_t skip, std::span<std::byte> into) const;
  /// Does the buffer hold anything of this dataset?
  [[nodiscard]] bool holds(DatasetNumber dataset) const { return held_.contains(dataset); }
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] std::uint64_t bytes() const { return buffer_.size(); }
  /// In the order of their data.
  [[nodiscard]] const std::deque<Entry>& entries() const { return entries_; }
  [[nodiscard]] std::span<const std::byte> data_of(const Entry& entry) const {
    return buffer_.view().subspan(static_cast<std::size_t>(entry.offset),
                                  static_cast<std::size_t>(entry.bytes));
  }
  /// The bytes from this entry on.
  [[nodiscard]] std::span<const std::byte> data_from(const Entry& entry) const {
    return buffer_.view().subspan(static_cast<std::size_t>(entry.offset));
  }
  /// When the parts of a record that is here were written; null if it did not grow.
  [[nodiscard]] const WriteTimes* times_of(DatasetNumber dataset, std::size_t position) const;
  /// The first `count` entries are in the stream now. Errors: as Board::publish().
  Status drop_first(std::size_t count);
  /// Drops what there is of a dataset that was deleted. What ranks may read that have not come to
  /// that call yet is then among left().
  void forget(DatasetNumber dataset);
  /// A record of a dataset that was deleted.
  struct Left {
    Record record;
    Entry entry;
    std::uint64_t collective = 0;  ///< count of the call that deleted it
  };
  /// Those that some rank may still read. They have to be in the stream before drop_first().
  [[nodiscard]] const std::vector<Left>& left();
  void drop_left() { left_.clear(); }

 private:
  static constexpr std::uint64_t kBufferedBit = 1ull << 63;
  /// Of a dataset with fewer records here there is little to gain by joining them.
  static constexpr std::uint64_t kFewest = 8;

  [[nodiscard]] std::uint64_t key_of(const Entry& entry) const;
  void note_box(std::size_t entry);
  /// Has nothing that is here the same box as a record of so many bytes, whatever that is?
  [[nodiscard]] bool is_alone(std::size_t bytes) const;
  /// The last one with this key, and if it grew, so many `bytes`.
  [[nodiscard]] std::optional<std::size_t> entry_of(std::uint64_t key, std::size_t bytes) const;
  bool replace(const Entry& entry, const Record& record, std::span<const std::byte> data);
  /// Is this the only rank that writes?
  [[nodiscard]] bool alone() const { return board_ == nullptr && !keep_times_; }
  /// The record that a write of this dataset may make longer; null if there is none.
  [[nodiscard]] Entry* may_grow(DatasetNumber dataset);
  /// After a write of this entry: may the next one make it longer? Another one of its dataset may
  /// not, which is not the latest any more.
  void let_grow(std::size_t entry, bool grows);
  /// The record that it made longer; null if there is none.
  Entry* grow(const Record& record, std::span<const std::byte> data);
  /// Can it become longer by so many bytes where it is?
  [[nodiscard]] bool fits_behind(const Entry& entry, std::size_t bytes) const;
  void put_behind(Entry& entry, std::span<const std::byte> data);
  Status compact_dataset(DatasetNumber dataset, std::span<const Entry* const> group,
                         std::vector<std::byte>& fresh, std::deque<Entry>& kept);
  void join_dataset(const std::vector<std::size_t>& entries, std::uint64_t most_bytes,
                    const CountWritten& written, JoinedRecords& out) const;
  /// What is seen of it, which is all of a record that is joined.
  [[nodiscard]] Box box_of(const RecordSlot& slot) const;
  [[nodiscard]] std::vector<Joined> join_in_any_order(const std::vector<std::size_t>& entries,
                                                      std::uint64_t most_elements,
                                                      const CountWritten& written) const;
  void join_over_gaps(DatasetNumber dataset, std::uint64_t most_elements,
                      const CountWritten& written, JoinedBoxes& boxes) const;
  [[nodiscard]] std::vector<Joined> join_in_turn(const std::vector<std::size_t>& entries,
                                                 std::uint64_t most_elements) const;
  void find_anew();

  Index& index_;
  Board* board_ = nullptr;
  GatheredBytes buffer_;
  std::deque<Entry> entries_;  ///< there may be very many: they are not moved as they get more
  std::vector<Left> left_;
  /// Where all of entries_ are but the last, which may still grow.
  KeyTable<std::uint32_t> by_box_;
  ByNumber<std::uint64_t> held_;  ///< how many records of a dataset are here
  std::uint64_t held_bytes_ = 0;  ///< of all entries, without room
  ByNumber<UnwrittenElements> unwritten_;
  bool scattered_ = false;      ///< their bytes do not lie one behind the other
  bool keeps_places_ = false;   ///< keep_places()
  ByNumber<std::size_t> last_;  ///< alone(): of a dataset, the entry that may become longer
  std::map<std::pair<DatasetNumber, std::size_t>, std::size_t> grown_;  ///< entries_ with times
  std::uint64_t compacted_bytes_ = 0;
  std::uint64_t most_grown_ = kNoLimit;
  std::uint64_t longest_ = kNoLimit;
  std::uint64_t grown_bytes_ = 0;  ///< of records that grew
  bool growing_ = false;           ///< the same of the last write's, where there are other ranks
  bool keep_times_ = false;
};

}  // namespace bento
