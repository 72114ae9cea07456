// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// From a record to the caller's buffer, verified as `verify=` says. Task-local. Source:
/// docs/format.md, "What is verified when".
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/io/file.hpp"
#include "core/io/read_ahead.hpp"
#include "core/layout/plan.hpp"
#include "core/records/record.hpp"
#include "core/records/record_cache.hpp"
#include "core/stream/slice_cache.hpp"
#include "core/stream/sound_records.hpp"
#include "core/stream/stream_writer.hpp"

namespace bento {

/// What is held against its hash when it is read.
enum class Verification : std::uint8_t {
  kNone,
  /// Records of up to kVerifyBytes, and filtered ones of any size: all of the record when any part
  /// of it is read. Parts of a plain one that are read later may be taken without the rest of it,
  /// and are not verified then. Nothing of larger plain ones: that cost a quarter to a third of the
  /// read rate (docs/benchmarks.md).
  kSmall,
  /// Those, whenever a part of them is read, and of larger plain ones each granule of which a part
  /// is read.
  kAll,
};

inline constexpr std::uint64_t kVerifyBytes = 1u << 20;

/// Bytes of records of up to kVerifyBytes that are kept after a part of them was read.
inline constexpr std::size_t kKeptBytes = std::size_t{16} << 20;

class RecordReader {
 public:
  /// The physical file of a writer and its address arithmetic.
  struct Source {
    File* file;
    const FilePlan* plan;
    std::uint32_t local_task;
  };
  using Locate = std::function<Result<Source>(std::uint32_t writer)>;

  /// `ahead` must outlive this. `reads_on`: the files' records do not change, so that what lies
  /// behind a record may be read together with it.
  RecordReader(Locate locate, const StreamWriter* own, Verification verification, ReadAhead& ahead,
               bool reads_on)
      : locate_(std::move(locate)),
        own_(own),
        ahead_(ahead),
        reads_on_(reads_on),
        verification_(verification),
        hashes_wanted_(verification == Verification::kAll) {}

  /// What the records' hashes are.
  void set_rules(const StreamRules& rules) { rules_ = rules; }

  /// Copies the elements of `part` into the row-major buffer of `to_box` (part lies in both boxes).
  /// Errors: kCorrupt (hash, location outside its chunk or the file), kUnsupported (everything is
  /// to be verified, but the record has no hash), kIo, kInternal (the record is filtered: the
  /// connector decodes what read_stored() gives).
  Status read(const Record& record, std::uint64_t element_bytes, const Box& part, const Box& to_box,
              std::byte* to) {
    return read(record, element_bytes, std::span(&part, 1), to_box, to);
  }
  /// The same of several disjoint parts: where they lie between each other in the record, its bytes
  /// are read once.
  Status read(const Record& record, std::uint64_t element_bytes, std::span<const Box> parts,
              const Box& to_box, std::byte* to);
  /// All stored bytes of a record. Errors: as read().
  Result<std::vector<std::byte>> read_stored(const Record& record);

  /// Has the record a hash that its bytes can be held against? Errors: as read().
  Result<bool> has_hash(const Record& record);

  /// Somebody else wrote to the file: whatever was asked for, everything that has a hash is
  /// verified.
  void distrust() { verification_ = Verification::kAll; }

  /// While one lives, what lies at these places is being written anew by this rank, which reads on
  /// in what is still there: nothing of it is verified.
  class WrittenAnew {
   public:
    WrittenAnew(RecordReader& reader, std::span<const Location> places) : reader_(reader) {
      reader_.anew_ = places;
    }
    WrittenAnew(const WrittenAnew&) = delete;
    WrittenAnew& operator=(const WrittenAnew&) = delete;
    ~WrittenAnew() {
      reader_.anew_ = {};
      reader_.invalidate();
    }

   private:
    RecordReader& reader_;
  };

  /// While one lives, no file changes where records are: what lies behind a record may be read
  /// together with it.
  class ReadingOn {
   public:
    explicit ReadingOn(RecordReader& reader) : reader_(reader), before_(reader.reads_on_) {
      reader_.reads_on_ = true;
    }
    ReadingOn(const ReadingOn&) = delete;
    ReadingOn& operator=(const ReadingOn&) = delete;
    ~ReadingOn() {
      reader_.reads_on_ = before_;
      reader_.invalidate();
    }

   private:
    RecordReader& reader_;
    bool before_;
  };

  /// The elements of `parts` as read(), of a record whose hash is not known: not verified.
  Status read_unverified(const Record& record, std::uint64_t element_bytes,
                         std::span<const Box> parts, const Box& to_box, std::byte* to);

  /// Forgets what was kept of records; needed before bytes of the files change under it.
  void invalidate();

 private:
  /// A record where it lies.
  struct Place {
    const Record& record;
    Source source;
    std::uint64_t address;
    /// Of a record that is verified in granules: their hashes. Empty: it is not verified.
    std::span<const Hash128> granules;
  };

  /// `end`: of what must not change while it is kept.
  [[nodiscard]] FileAhead through(const Source& source, std::uint64_t end) const;
  [[nodiscard]] Verification wanted(const Record& record) const;
  Result<std::uint64_t> address_of(const Record& record, const Source& source) const;
  Result<Hash128> wanted_hash(const Record& record, const Source& source,
                              std::uint64_t address) const;
  Status read_whole(const Record& record, const Source& source, std::span<std::byte> into);
  /// Were the small record's hash and bytes found to agree, so that these parts are read alone?
  bool reads_again(const Record& record, std::uint64_t element_bytes, std::span<const Box> parts);
  Status read_small(const Record& record, std::uint64_t element_bytes, const Box& part,
                    const Box& to_box, std::byte* to);
  Result<Place> place_of(const Record& record, const Source& source);
  enum class Ahead : bool { kNothingMore, kGoesOn };
  Status fetch(const Place& place, std::uint64_t from, std::span<std::byte> into,
               Ahead ahead = Ahead::kGoesOn);
  Status read_granule(const Place& place, std::uint64_t granule, std::span<std::byte> into);
  Status read_buffered(const Record& record, std::uint64_t element_bytes,
                       std::span<const Box> parts, const Box& to_box, std::byte* to);
  /// Choices: scattered_read.cpp.
  Status read_scattered(const Place& place, std::uint64_t element_bytes, std::span<const Box> parts,
                        const Box& to_box, std::byte* to);
  Status read_in_windows(const Place& place, std::uint64_t element_bytes,
                         std::span<const Box> parts, const Box& to_box, std::byte* to);
  Status read_runs(const Place& place, std::uint64_t element_bytes, const Box& part,
                   const Box& to_box, std::byte* to);

  Locate locate_;
  const StreamWriter* own_;
  ReadAhead& ahead_;
  bool reads_on_;
  Verification verification_;
  bool hashes_wanted_;  ///< a record without a hash is an error
  std::span<const Location> anew_;
  StreamRules rules_;

  // What was read last, for who reads on next to it.
  RecordCache kept_{kKeptBytes};
  std::vector<std::byte> passing_;  ///< a whole record that is not kept
  SoundRecords sound_;
  SliceCache slices_;
  Location granules_at_;
  std::vector<Hash128> granules_;  ///< hashes of a record's granules
  std::uint64_t granule_number_ = 0;
  std::vector<std::byte> granule_;  ///< one granule of that record
};

}  // namespace bento
