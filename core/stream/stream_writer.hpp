// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// One rank's stream: turns records into FTI-FF blocks in the rank's own chunks. Large records go
/// from the caller's buffer straight to the file; small ones gather in a buffer and share a block.
/// Until the layout is fixed everything stays in the buffer. Task-local: never communicates.
/// Source: docs/format.md, "A rank's stream".
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "core/fti/v11.hpp"
#include "core/io/file.hpp"
#include "core/layout/chunk_fill.hpp"
#include "core/layout/plan.hpp"
#include "core/records/index.hpp"
#include "core/records/value_range.hpp"
#include "core/records/write_times.hpp"
#include "core/stream/block_reuse.hpp"
#include "core/stream/stream_liveness.hpp"
#include "core/stream/stream_walk.hpp"

namespace bento {

struct StreamOptions {
  std::uint64_t buffer_bytes = 4u << 20;  ///< small records gather up to this many bytes
  /// Small records share blocks of at most so many bytes. The distance from a dbvar to its data has
  /// 32 bits in the index.
  std::uint64_t block_bytes = 1u << 30;
  std::uint64_t align = 4096;  ///< large records begin at a multiple of this, a power of two
  /// kNone: this session's records get no hash. Else a new container's rule; an existing one keeps
  /// its own.
  fti::HashKind hash = fti::HashKind::kXxh3;
};

inline constexpr std::uint64_t kLargeRecordBytes =
    64u << 10;  ///< from here on a record is a block of its own

class StreamWriter {
 public:
  /// A record of this session that no commit has stored yet.
  struct Slot {
    DatasetNumber dataset;
    std::size_t position;  ///< in Index
  };

  /// No block of this stream ends beyond file address `limit`.
  StreamWriter(Index& index, std::uint32_t writer, StreamOptions options,
               std::uint64_t limit = kMaxLogicalBytes);

  /// Which hash the container's records carry (kMd5 or kXxh3), whatever the options say; before
  /// anything is written.
  void set_rule(fti::HashKind rule) { rule_ = rule; }

  /// Other ranks write, too: remembers when the parts of records that grow were written, until they
  /// are committed.
  void keep_times() { keep_times_ = true; }

  /// Gives the stream its chunks; from now on the buffer may be written out. `fill` is empty for a
  /// new stream; else the stream goes on behind its last used byte, and its blocks are walked once
  /// so that the FTI numbering continues. Errors: kIo, kCorrupt (a block that contradicts its
  /// chunk). `reuse_dead`: the containers without content are dead and nobody reads them, so that
  /// blocks of nothing else may be written anew.
  Status attach(const FilePlan& plan, std::uint32_t local_task, File& file, ChunkFill fill,
                bool reuse_dead);
  [[nodiscard]] bool attached() const { return file_ != nullptr; }
  [[nodiscard]] std::uint32_t writer() const { return writer_; }
  /// Goes on as another writer, not attached; nothing may be buffered or uncommitted. What is known
  /// of the stream so far is forgotten, its fill and orphans too.
  void become(std::uint32_t writer);

  /// Adds one record. `record` comes without location and hash; `data` is its bytes and must hold
  /// box.elements() * element_bytes bytes unless filtered. The index knows the record when this
  /// returns. Errors: kNoSpace, kIo (nothing of the record is then visible), kNoSpace naming chunk=
  /// for an element that fits no chunk. Unless it `may_grow`, the last write's record does not
  /// become longer by this one.
  Status write(const Record& record, std::uint64_t element_bytes, std::span<const std::byte> data,
               const ValueRange& range = ValueRange::everything(), bool may_grow = true);
  /// Did the last write() make the record before it longer?
  [[nodiscard]] bool grew() const { return grew_; }
  /// When the parts of an uncommitted record that is in the stream were written. Null if it did not
  /// grow; its order is that of the first part.
  [[nodiscard]] const WriteTimes* times_of(const Slot& slot) const;
  using ReadRecord = std::function<Result<std::vector<std::byte>>(const Record&)>;
  /// Writes all parts but the first of the records of these datasets that grew once more, each as
  /// a record of its own, as late as it is: so the records say which of several ranks' writes is
  /// later. Nothing may be buffered. True if there were any. Errors as write(), and those of
  /// `read`; what was written then is not written again.
  Result<bool> write_parts(const std::set<DatasetNumber>& datasets, const ReadRecord& read);

  /// Bytes of a chunk that a record of its own cannot have: FB and header, up to the alignment.
  [[nodiscard]] static std::uint64_t bytes_in_front(const StreamOptions& options);

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
  [[nodiscard]] bool reused() const { return reused_; }
  /// Brings FB up to date; called after a commit's root is in place. With MD5 the file checksum is
  /// zero until the stream is `complete`; then the stream is read back for it.
  Status write_file_block(std::uint64_t time_ns, bool complete);

  /// Is the record still in the buffer? Then read_buffered() serves it.
  [[nodiscard]] static bool buffered(const Location& where) {
    return (where.offset & kBufferedBit) != 0;
  }
  void read_buffered(const Location& where, std::uint64_t skip, std::span<std::byte> into) const;
  /// Does the buffer hold anything of this dataset?
  [[nodiscard]] bool holds(DatasetNumber dataset) const { return held_.contains(dataset); }
  [[nodiscard]] bool has_buffered() const { return !pending_.empty(); }
  /// Drops what the buffer and the uncommitted list hold of a dataset that was deleted.
  void forget(DatasetNumber dataset);

  [[nodiscard]] const std::vector<Slot>& uncommitted() const { return uncommitted_; }
  /// Those of them that no other rank has been told of; all are told of after mark_told().
  [[nodiscard]] std::span<const Slot> untold() const {
    return std::span(uncommitted_).subspan(told_);
  }
  void mark_told() { told_ = uncommitted_.size(); }
  /// Smallest and largest value of an uncommitted record, as far as known.
  [[nodiscard]] ValueRange range_of(const Slot& slot) const;
  [[nodiscard]] const ChunkFill& fill() const { return fill_; }
  [[nodiscard]] std::uint64_t bytes_written() const { return bytes_written_; }
  /// Positions of records in the stream that no index knows: their write failed half-way, or their
  /// dataset was deleted before a commit. In no order.
  [[nodiscard]] const std::vector<Position>& orphans() const { return orphans_; }

 private:
  struct Pending {
    Slot slot;
    std::uint64_t buffer_offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t element_bytes = 0;
    std::uint64_t key = 0;  ///< in by_box_
    WriteTimes times;
  };
  struct Numbering {
    std::int32_t containers = 0;
    std::uint64_t bytes = 0;
  };

  static constexpr std::uint64_t kBufferedBit = 1ull << 63;

  Status buffer(const Record& record, std::uint64_t element_bytes, std::span<const std::byte> data,
                const ValueRange& range);
  Status compact();
  Status write_parts_of(const Slot& slot, const ReadRecord& read);
  void note_times(const Slot& slot, WriteTimes times);
  Status flush_buffer();
  void note_range(const Slot& slot, const ValueRange& range);
  Status write_large(Record record, std::uint64_t element_bytes, std::span<const std::byte> data,
                     std::vector<Record>& placed);
  Status write_block(std::span<const Pending> group, const StreamBlockShape* into);
  Status write_large_part(Record part, std::span<const std::byte> data, std::uint64_t capacity,
                          const StreamBlockShape* into, std::vector<Record>& placed);
  Result<bool> flush_into_free(std::span<const Pending> group);
  Status write_hashed(std::uint64_t address, std::span<const std::byte> data, Record& record);
  fti::v11::DbVar next_var(const Record& record, std::uint64_t stream_at, std::uint64_t capacity);
  Status next_chunk();
  [[nodiscard]] std::uint64_t room() const { return plan_.chunk_bytes - fill_.back(); }
  Status resume(bool reuse_dead);
  [[nodiscard]] fti::HashKind record_kind() const {
    return options_.hash == fti::HashKind::kNone ? fti::HashKind::kNone : rule_;
  }
  [[nodiscard]] StreamPlace place() const { return {file_, plan_, local_task_, writer_}; }

  Index& index_;
  std::uint32_t writer_;
  StreamOptions options_;
  std::uint64_t limit_;
  bool beyond_limit_ = false;
  fti::HashKind rule_ = fti::HashKind::kXxh3;
  FilePlan plan_;
  std::uint32_t local_task_ = 0;
  File* file_ = nullptr;

  ChunkFill fill_;
  std::vector<std::byte> buffer_;
  std::vector<Pending> pending_;
  std::unordered_map<std::uint64_t, std::size_t> by_box_;  ///< hash of (dataset, box) -> pending_
  std::unordered_map<DatasetNumber, std::uint64_t> held_;  ///< dataset -> buffered records
  std::uint64_t compacted_bytes_ = 0;
  /// The last write went to the end of the buffer, so the next one may continue its record: a
  /// record that grew across another write would claim to be as late as its first part.
  bool mergeable_ = false;
  bool grew_ = false;
  std::vector<Slot> uncommitted_;
  std::size_t told_ = 0;  ///< the first so many of uncommitted_ other ranks know
  std::map<std::pair<DatasetNumber, std::size_t>, ValueRange> ranges_;  ///< of uncommitted records
  std::map<std::pair<DatasetNumber, std::size_t>, WriteTimes> times_;   ///< of those in the stream
  bool keep_times_ = false;
  std::map<DatasetNumber, Numbering> numbering_;
  fti::v11::HashOfHashes hash_of_hashes_;
  /// A write failed after its containers were numbered: numbers and hashes are counted anew.
  bool miscounted_ = false;
  bool hashed_ = false;  ///< some container of the stream has a hash
  BlockReuse reuse_;
  bool reused_ = false;
  std::vector<Position> orphans_;
  std::uint64_t bytes_written_ = 0;
  std::uint64_t bytes_committed_ = 0;  ///< of those, at the last commit
};

}  // namespace bento
