// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// One rank's stream on disk: FTI-FF blocks in the rank's own chunks. A large record is a block of
/// its own, small ones share a block; blocks in which nothing can be read any more are written
/// anew. Knows neither the index nor what waits in memory. Task-local: never communicates. Source:
/// docs/format.md, "A rank's stream".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "core/bytes/byte_source.hpp"
#include "core/fti/v11.hpp"
#include "core/io/file.hpp"
#include "core/layout/chunk_fill.hpp"
#include "core/layout/plan.hpp"
#include "core/records/by_number.hpp"
#include "core/records/record.hpp"
#include "core/stream/block_reuse.hpp"
#include "core/stream/container_step.hpp"
#include "core/stream/stream_walk.hpp"

namespace bento {

struct StreamOptions {
  std::uint64_t buffer_bytes = 4u << 20;  ///< small records gather up to this many bytes
  /// Small records share blocks of at most so many bytes. The distance from a dbvar to its data has
  /// 32 bits in the index.
  std::uint64_t block_bytes = 1u << 30;
  /// Large records begin at a multiple of this, a power of two. Not where streams are for FTI.
  std::uint64_t align = 4096;
  /// False: up to a cache line behind that, at the place in a line that their data has in memory.
  bool align_exactly = false;
  /// Of the file system, a power of two, or 0: records of at least kStripesPerRecord of them begin
  /// at a multiple of it, in a container whose chunks do.
  std::uint64_t stripe_bytes = 0;
  /// H5Pset_alignment: plain records of at least `threshold` bytes that are a whole dataset begin
  /// at file addresses that are multiples of `multiple`. Not where streams are for FTI, nor where
  /// it is more than kMostAlignment or a quarter of a chunk, or the record fits no chunk then.
  struct Alignment {
    std::uint64_t threshold = 1;
    std::uint64_t multiple = 1;
  } whole_datasets;
  /// kNone: this session's records get no hash. Else a new container's rule; an existing one keeps
  /// its own.
  fti::HashKind hash = fti::HashKind::kXxh3;
};

/// What an alignment to stripes may leave empty is at most this part of a record.
inline constexpr std::uint64_t kStripesPerRecord = 4;
/// The distance from a dbvar to its data has 32 bits in the index.
inline constexpr std::uint64_t kMostAlignment = 1u << 30;
inline constexpr std::uint64_t kLargeRecordBytes =
    64u << 10;  ///< from here on a record is a block of its own

class BlockWriter {
 public:
  /// No block of this stream ends beyond file address `limit`.
  BlockWriter(std::uint32_t writer, const StreamOptions& options, std::uint64_t limit)
      : writer_(writer), options_(options), limit_(limit) {}

  /// The container's, whatever the options say; before anything is written.
  void set_rules(const StreamRules& rules) { rules_ = rules; }
  /// Gives the stream its chunks. `fill` is empty for a new stream; else the stream goes on behind
  /// its last used byte, and its blocks are walked once so that the FTI numbering continues.
  /// `dead`: which blocks without content may be written anew, and when. Errors: kIo, kCorrupt (a
  /// block that contradicts its chunk).
  Status attach(const FilePlan& plan, std::uint32_t local_task, File& file, ChunkFill fill,
                const DeadSpace& dead);
  [[nodiscard]] bool attached() const { return file_ != nullptr; }
  [[nodiscard]] std::uint32_t writer() const { return writer_; }
  /// Goes on as another writer, not attached. What is known of the stream so far is forgotten, its
  /// fill and orphans too.
  void become(std::uint32_t writer);
  /// May blocks lie beyond the limit? What a commit writes is little, and could go nowhere else.
  void allow_beyond_limit(bool allowed) { beyond_limit_ = allowed; }

  /// Writes a record as one block or, cut along its slowest dimension, as several. Gives the parts
  /// with their places and hashes, in row-major order. Errors: kIo, kNoSpace (naming chunk= for an
  /// element that fits no chunk); parts that were written then are orphans.
  /// `data` has `bytes` bytes, and fails with an error of its own.
  Result<std::vector<Record>> write_large(const Record& record, std::uint64_t element_bytes,
                                          ByteSource& data, std::uint64_t bytes);

  /// Writes other bytes, as many, into the place of a record that write_large() gave, and sets its
  /// hash. A program that reads the file meanwhile sees some of both. Errors: kIo, those of `data`:
  /// some of it may be written then, and the hash is that of what is there.
  Status rewrite_large(Record& record, ByteSource& data);
  /// May it do that? Where FTI may restart from a stream, it would read what no commit has stored.
  [[nodiscard]] bool can_rewrite() const { return !rules_.for_fti; }

  /// A small record, whose data lies right behind that of the one before it.
  struct SmallRecord {
    DatasetNumber dataset = 0;
    std::uint64_t bytes = 0;
  };
  struct Placed {
    Position position = 0;
    std::uint32_t header_distance = 0;
    Hash128 hash{};
  };
  /// Does such a record share blocks with others?
  [[nodiscard]] bool is_small(const SmallRecord& record) const;
  /// Plain records of this dataset that have so many bytes are all of it.
  void note_whole(DatasetNumber dataset, std::uint64_t bytes);
  void forget_whole(DatasetNumber dataset) { whole_bytes_.erase(dataset); }
  /// Writes the first of these records, as many as fit one block, at least one; gives their places.
  /// Each must be small. Errors: kIo, kNoSpace.
  Result<std::vector<Placed>> write_small(std::span<const SmallRecord> records,
                                          std::span<const std::byte> data);
  /// Brings FB up to date. With MD5 the file checksum is zero until the stream is `complete`; then
  /// the stream is read back for it.
  Status write_file_block(std::uint64_t time_ns, bool complete);

  /// Step `step` is committed: what is written from now on belongs to later ones.
  void set_committed(std::uint64_t step) { committed_ = step; }
  /// Where blocks may be written anew; told of commits.
  [[nodiscard]] BlockReuse& reuse() { return reuse_; }
  [[nodiscard]] const BlockReuse& reuse() const { return reuse_; }
  /// Was space of dead records written anew in this session? FB is then right only after the close.
  [[nodiscard]] bool reused() const { return reused_; }
  [[nodiscard]] const ChunkFill& fill() const { return fill_; }
  [[nodiscard]] std::uint64_t bytes_written() const { return bytes_written_; }
  /// Positions of records in the stream that no index knows, in no order.
  [[nodiscard]] const std::vector<Position>& orphans() const { return orphans_; }
  void add_orphan(Position position) { orphans_.push_back(position); }

 private:
  struct Numbering {
    std::int32_t containers = 0;
    std::uint64_t bytes = 0;
  };
  /// What a record needs that is a block of its own, or the parts of it.
  struct LargeSizes;
  /// A large record's container.
  struct Room {
    std::uint64_t capacity = 0;
    std::uint64_t alignment = 1;
    std::uint64_t shift = 0;  ///< behind a multiple of `align` where there is room for it
  };

  Status resume(const DeadSpace& dead);
  std::optional<StreamBlockShape> take_free(const LargeSizes& sizes, Box& box,
                                            std::vector<Box>& rest);
  std::optional<StreamBlockShape> take_aligned(const LargeSizes& sizes, const Box& box);
  Result<bool> cut_to_chunk(const LargeSizes& sizes, Box& box, std::vector<Box>& rest);
  Status write_parts(const Record& record, std::uint64_t element_bytes, ByteSource& data,
                     std::uint64_t bytes, std::vector<Record>& placed);
  Status write_part(Record part, ByteSource& data, const Room& room, const StreamBlockShape* into,
                    std::vector<Record>& placed);
  /// A container of a block of small records, and what comes into it.
  struct Slot {
    static constexpr std::size_t kEmpty = ~std::size_t{0};
    std::uint64_t capacity = 0;
    std::size_t record = kEmpty;  ///< which of the records that are placed
    std::uint64_t from = 0;       ///< where in their data it begins
  };
  Status write_block(std::span<const SmallRecord> records, std::span<const std::byte> data,
                     std::span<const Slot> slots, const StreamBlockShape* into,
                     std::vector<Placed>& placed);
  Status write_fitting(std::span<const SmallRecord> records, std::span<const std::byte> data,
                       std::vector<Placed>& placed);
  Status write_data(std::span<const SmallRecord> records, std::span<const std::byte> data,
                    std::span<const Slot> slots, std::uint64_t address);
  static std::vector<Slot> slots_of(std::span<const SmallRecord> records);
  [[nodiscard]] std::size_t fitting(std::span<const SmallRecord> records,
                                    std::uint64_t bytes) const;
  Status write_hashed(std::uint64_t address, ByteSource& data, Record& record);
  Status store_hash(const Record& record);
  fti::v11::DbVar next_var(DatasetNumber dataset, std::uint64_t bytes, const Hash128& hash,
                           std::uint64_t stream_at, std::uint64_t capacity);
  Status next_chunk();
  [[nodiscard]] std::uint64_t room() const { return plan_.chunk_bytes - fill_.back(); }
  /// Where data would begin, and what is left for it, in a chunk that is filled up to `used`.
  [[nodiscard]] std::uint64_t data_at(std::uint64_t used) const;
  /// Where a record with such a container begins: as it must be aligned, else at a stripe if it is
  /// worth it and then still fits, else shifted if it then still fits.
  [[nodiscard]] std::uint64_t data_at(std::uint64_t used, const Room& room) const;
  [[nodiscard]] std::uint64_t room_behind(std::uint64_t used) const;
  /// What the address of a record must be a multiple of; 1 if nobody cares, or where it cannot be.
  [[nodiscard]] std::uint64_t alignment_of(DatasetNumber dataset, std::uint64_t bytes) const;
  /// Where in the last chunk, filled up to `used`, data behind a large record's header is aligned.
  [[nodiscard]] std::uint64_t aligned_at(std::uint64_t used, std::uint64_t multiple) const;
  [[nodiscard]] fti::HashKind record_kind() const {
    return options_.hash == fti::HashKind::kNone ? fti::HashKind::kNone : rules_.hash;
  }
  [[nodiscard]] StreamPlace place() const { return {file_, plan_, local_task_, writer_, rules_}; }

  std::uint32_t writer_;
  StreamOptions options_;
  std::uint64_t limit_;
  bool beyond_limit_ = false;
  StreamRules rules_;
  std::uint64_t committed_ = 0;  ///< newest step
  FilePlan plan_;
  std::uint32_t local_task_ = 0;
  File* file_ = nullptr;

  ChunkFill fill_;
  ByNumber<Numbering> numbering_;
  fti::v11::HashOfHashes hash_of_hashes_;
  /// A write failed after its containers were numbered: numbers and hashes are counted anew.
  bool miscounted_ = false;
  bool hashed_ = false;  ///< some container of the stream has a hash
  BlockReuse reuse_;
  bool reused_ = false;
  std::vector<Position> orphans_;
  std::uint64_t bytes_written_ = 0;
  std::map<DatasetNumber, std::uint64_t> whole_bytes_;  ///< of those that are to be aligned
};

}  // namespace bento
