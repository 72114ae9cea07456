// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What one rank writes in a session, and what no commit has stored of it yet. Large records go
/// from the caller's memory straight to the file (block_writer.hpp), small ones gather in a buffer
/// first (record_buffer.hpp). Until the layout is fixed everything stays in the buffer. Task-local:
/// never communicates. Source: docs/format.md, "A rank's stream".
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/io/file.hpp"
#include "core/layout/chunk_fill.hpp"
#include "core/layout/plan.hpp"
#include "core/records/index.hpp"
#include "core/records/record_gaps.hpp"
#include "core/records/value_range.hpp"
#include "core/records/write_times.hpp"
#include "core/stream/block_writer.hpp"
#include "core/stream/record_buffer.hpp"
#include "core/stream/stream_liveness.hpp"

namespace bento {

class StreamWriter {
 public:
  using Slot = RecordSlot;

  /// No block of this stream ends beyond file address `limit`. `count_written` is asked when
  /// records are to be joined over gaps.
  StreamWriter(Index& index, std::uint32_t writer, StreamOptions options,
               std::uint64_t limit = kMaxLogicalBytes, CountWritten count_written = {});

  /// The container's, whatever the options say; before anything is written.
  void set_rules(const StreamRules& rules) { blocks_.set_rules(rules); }

  /// Other ranks may read what is not committed yet: it is told on the board. Before anything is
  /// written.
  void share(Board* board) {
    board_ = board;
    buffer_.share(board);
    buffer_bytes_ = std::min(buffer_bytes_, board->most_gathered());
  }
  /// Other ranks write, too: remembers when the parts of records that grow were written, until they
  /// are committed.
  void keep_times() { buffer_.keep_times(); }

  /// Gives the stream its chunks: BlockWriter::attach(). From now on the buffer may be written out.
  Status attach(const FilePlan& plan, std::uint32_t local_task, File& file, ChunkFill fill,
                const DeadSpace& dead);
  /// `step` is the newest one as the session begins.
  void begin_at(std::uint64_t step) { blocks_.set_committed(step); }
  [[nodiscard]] bool attached() const { return blocks_.attached(); }
  [[nodiscard]] std::uint32_t writer() const { return blocks_.writer(); }
  /// BlockWriter::become(); nothing may be buffered or uncommitted.
  void become(std::uint32_t writer);

  /// Adds one record. `record` comes without location and hash; `data` is its bytes and must hold
  /// box.elements() * element_bytes bytes unless filtered. The index knows the record when this
  /// returns. Errors: kNoSpace, kIo (nothing of the record is then visible), kNoSpace naming chunk=
  /// for an element that fits no chunk.
  Status write(const Record& record, std::uint64_t element_bytes, std::span<const std::byte> data,
               const ValueRange& range = ValueRange::everything(),
               JoinsWith joins = JoinsWith::kAny);
  /// The same of `bytes` bytes that are made while they are written. Errors: those of `data`, too.
  Status write(const Record& record, std::uint64_t element_bytes, ByteSource& data,
               std::uint64_t bytes, const ValueRange& range = ValueRange::everything(),
               JoinsWith joins = JoinsWith::kAny);
  /// Where the record lies that this one, of `bytes` bytes, would take the place of: this rank has
  /// written the same box before, as a large record, no commit has stored that, and no rank that
  /// still sees it may not see this one. One place for each of its parts; none: write() it.
  [[nodiscard]] std::vector<Location> places_to_rewrite(const Record& record,
                                                        std::uint64_t bytes) const;
  /// Writes it there, so that it needs no space. Not if places_to_rewrite() gives none. Who reads
  /// at the same time sees some of both, as in an HDF5 file. Errors: kIo, those of `data`; the
  /// part that failed is then what was written of both, and no later than it was.
  Status rewrite(const Record& record, ByteSource& data, const ValueRange& range);
  /// Has it done that since the last mark_told() or mark_committed()?
  [[nodiscard]] bool rewrote() const { return rewrote_; }
  /// The same of a record of which only some elements count where other ranks have written, too;
  /// the others are what this rank sees there. The stream must be attached.
  Status write_with_gaps(const Record& record, std::uint64_t element_bytes,
                         std::span<const std::byte> data, const SharedGaps& gaps,
                         const ValueRange& range = ValueRange::everything());
  /// Did the last write() make the record before it longer?
  [[nodiscard]] bool grew() const { return grew_; }
  /// When the parts of an uncommitted record that is in the stream were written. Null if it did not
  /// grow; its order is that of the first part.
  [[nodiscard]] const WriteTimes* times_of(const Slot& slot) const;
  /// The same, also of a record that still gathers.
  [[nodiscard]] const WriteTimes* any_times_of(const Slot& slot) const;
  /// Which elements of an uncommitted record were written; null if all.
  [[nodiscard]] const RecordGaps* gaps_of(const Slot& slot) const;
  /// Those with uncommitted records that have gaps.
  [[nodiscard]] std::set<DatasetNumber> datasets_with_gaps() const;
  using ReadRecord = std::function<Result<std::vector<std::byte>>(const Record&)>;
  /// Writes all parts but the first of the records of these datasets that grew once more, each as
  /// a record of its own, as late as it is: so the records say which of several ranks' writes is
  /// later. Nothing may be buffered. True if there were any. Errors as write(), and those of
  /// `read`; what was written then is not written again.
  Result<bool> write_parts(const std::set<DatasetNumber>& datasets, const ReadRecord& read);
  /// Writes what records of these datasets with gaps hold as records without any, as late as they
  /// are, in their place. Nothing may be buffered, nor told of. Errors: as write_parts().
  Status write_without_gaps(const std::set<DatasetNumber>& datasets, const ReadRecord& read);

  /// It would be worth while to say what a reader gets of this dataset where nobody has written.
  [[nodiscard]] bool asks_unwritten(DatasetNumber dataset) const {
    return buffer_.asks_unwritten(dataset);
  }
  void note_unwritten(DatasetNumber dataset, UnwrittenElements what) {
    buffer_.note_unwritten(dataset, std::move(what));
  }

  /// Plain records of this dataset that have so many bytes are all of it; they are aligned as the
  /// options say (StreamOptions::whole_datasets).
  void note_whole(DatasetNumber dataset, std::uint64_t bytes) {
    blocks_.note_whole(dataset, bytes);
  }

  /// Bytes of a chunk that a record of its own cannot have: FB and header, up to the alignment.
  [[nodiscard]] static std::uint64_t bytes_in_front(const StreamOptions& options,
                                                    const StreamRules& rules);

  /// Writes the buffer out. Errors as write(); unwritten records stay buffered. What is buffered
  /// when a commit asks for it may go `beyond_limit`: it is little, and could go nowhere else.
  Status flush(bool beyond_limit = false);
  /// Step `step` holds what was uncommitted, and no longer these datasets; no step before `oldest`
  /// can be read.
  void mark_committed(std::uint64_t step, std::uint64_t oldest,
                      std::span<const DatasetNumber> deleted);
  /// Of the bytes written since the last commit, those that replace nothing that this rank wrote
  /// before: they are new data, or lie over records of other ranks.
  [[nodiscard]] std::uint64_t new_bytes() const;
  /// After mark_committed(step, oldest): what the owner found can still be seen as of `step`.
  void forget_unseen(const LivenessPlan& plan, std::uint64_t step, std::uint64_t oldest);
  /// Was space of dead records written anew in this session? FB is then right only after the close.
  [[nodiscard]] bool reused() const { return blocks_.reused(); }
  /// Brings FB up to date; called after a commit's root is in place: BlockWriter.
  Status write_file_block(std::uint64_t time_ns, bool complete) {
    return blocks_.write_file_block(time_ns, complete);
  }

  /// Is the record still in the buffer? Then read_buffered() serves it.
  [[nodiscard]] static bool buffered(const Location& where) { return RecordBuffer::holds(where); }
  void read_buffered(const Location& where, std::uint64_t skip, std::span<std::byte> into) const {
    buffer_.read(where, skip, into);
  }
  /// Does the buffer hold anything of this dataset?
  [[nodiscard]] bool holds(DatasetNumber dataset) const { return buffer_.holds(dataset); }
  [[nodiscard]] bool has_buffered() const { return !buffer_.empty(); }
  /// Drops what the buffer and the uncommitted list hold of a dataset that was deleted.
  void forget(DatasetNumber dataset);

  [[nodiscard]] const std::vector<Slot>& uncommitted() const { return uncommitted_; }
  /// Those of them that no other rank has been told of; all are told of after mark_told().
  [[nodiscard]] std::span<const Slot> untold() const {
    return std::span(uncommitted_).subspan(told_);
  }
  void mark_told() {
    told_ = uncommitted_.size();
    large_.clear();
    rewrote_ = false;
    buffer_.drop_left();
  }
  /// Smallest and largest value of an uncommitted record, as far as known.
  [[nodiscard]] ValueRange range_of(const Slot& slot) const;
  [[nodiscard]] const ChunkFill& fill() const { return blocks_.fill(); }
  [[nodiscard]] std::uint64_t bytes_written() const { return blocks_.bytes_written(); }
  /// Positions of records in the stream that no index knows: their write failed half-way, or their
  /// dataset was deleted before a commit. In no order.
  [[nodiscard]] const std::vector<Position>& orphans() const { return blocks_.orphans(); }

 private:
  /// No record grows to more: what it was made of is then still in the processor's cache when it is
  /// written. Those of up to kVerifyBytes would be read as a whole for any part of them.
  static constexpr std::uint64_t kLongestGrownBytes = 2u << 20;

  /// What is written beside its bytes.
  struct Write {
    const Record& record;
    std::uint64_t element_bytes;
    const ValueRange& range;
    const SharedGaps& gaps;
    JoinsWith joins;
  };
  /// The parts of one large record.
  struct Large {
    Box box;
    std::uint64_t bytes = 0;
    std::vector<std::size_t> positions;  ///< in Index, in the order of their data
    std::vector<std::uint64_t> numbers;  ///< on the board
  };
  Status add(const Write& write, ByteSource& data, std::uint64_t bytes);
  [[nodiscard]] const Large* same_as(const Record& record, std::uint64_t bytes) const;
  Status buffer(const Write& write, std::span<const std::byte> data);
  Status compact();
  Status make_room(std::uint64_t bytes);
  Status flush_buffer();
  Status flush_left();
  Status flush_joined();
  Status write_joined(const RecordBuffer::JoinedRecords& joined, std::vector<bool>& gone);
  /// A joined record is in the stream.
  Status settle_joined(const RecordBuffer::Joined& joined, std::vector<Record> placed,
                       std::vector<bool>& gone);
  /// One that waited is, as one record or cut in several.
  Status settle(const Slot& slot, const WriteTimes& times, std::vector<Record> placed);
  [[nodiscard]] bool is_small(const RecordBuffer::Entry& entry) const {
    return blocks_.is_small({entry.slot.dataset, entry.bytes});
  }
  /// The buffer's records from `done` on, which moves on with what is in the stream.
  Status flush_large(std::size_t& done);
  Status flush_small(std::size_t& done);
  Status write_parts_of(const Slot& slot, const ReadRecord& read);
  /// Of what is in the stream already, at a commit or an exchange: it may take what is kept for
  /// these.
  Status write_copy(const Record& record, std::uint64_t element_bytes,
                    std::span<const std::byte> data, const ValueRange& range);
  /// A small record as it is in the file.
  [[nodiscard]] Record placed_at(Record record, const BlockWriter::Placed& place) const;
  Status write_boxes_of(const Slot& slot, const RecordGaps& gaps, const ReadRecord& read);
  void drop(const Slot& slot);
  /// They are no longer among uncommitted_.
  template <class Which>
  void forget_slots(const Which& which) {
    told_ -= static_cast<std::size_t>(std::count_if(
        uncommitted_.begin(), uncommitted_.begin() + static_cast<std::ptrdiff_t>(told_), which));
    std::erase_if(uncommitted_, which);
  }
  void note_times(const Slot& slot, WriteTimes times);
  void note_range(const Slot& slot, const ValueRange& range);

  Index& index_;
  CountWritten count_written_;
  std::uint64_t buffer_bytes_;  ///< StreamOptions
  BlockWriter blocks_;
  RecordBuffer buffer_;
  Board* board_ = nullptr;  ///< null if nobody else reads
  bool grew_ = false;
  bool rewrote_ = false;
  std::vector<Slot> uncommitted_;
  std::size_t told_ = 0;  ///< the first so many of uncommitted_ other ranks know
  std::map<std::pair<DatasetNumber, std::size_t>, ValueRange> ranges_;  ///< of uncommitted records
  std::map<std::pair<DatasetNumber, std::size_t>, WriteTimes> times_;   ///< of those in the stream
  std::map<std::pair<DatasetNumber, std::size_t>, SharedGaps> gaps_;    ///< of uncommitted records
  /// Large records by dataset and hash of the box: the last one of each box that this rank has
  /// written and no other rank has been told of in an exchange.
  std::map<std::pair<DatasetNumber, std::uint64_t>, Large> large_;
  std::uint64_t bytes_committed_ = 0;  ///< of bytes_written(), at the last commit
};

}  // namespace bento
