// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/stream/record_reader.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/verified_reads.hpp"
#include "core/fti/granules.hpp"
#include "core/stream/granule_table.hpp"
#include "core/stream/record_hash.hpp"

namespace bento {

namespace {
constexpr std::size_t kPieceBytes =
    256u << 10;  // hash and read take turns on pieces that stay in the cache

Status mismatch(const Record& record, const File& file, std::uint64_t address, std::uint64_t from,
                std::uint64_t bytes) {
  return fail(
      Code::kCorrupt,
      fmt::format("'{}': data of dataset {} at byte {} ({} bytes, written by rank {}) does not "
                  "match its checksum",
                  file.path(), record.dataset, address + from, bytes, record.order.rank));
}

/// Reads, and gives the hash of what was read: in turns, while a piece is still in the cache.
Result<Hash128> read_hashed(File& file, std::uint64_t address, std::span<std::byte> into,
                            fti::HashKind kind) {
  if (into.size() <= kPieceBytes) {
    BENTO_TRY(file.read_at(address, into));
    return fti::chunk_hash(kind, into);
  }
  fti::ChunkHasher hasher(kind);
  for (std::size_t done = 0; done < into.size(); done += kPieceBytes) {
    const auto piece = into.subspan(done, std::min(kPieceBytes, into.size() - done));
    BENTO_TRY(file.read_at(address + done, piece));
    hasher.update(piece);
  }
  return hasher.digest();
}

}  // namespace

void RecordReader::invalidate() {
  kept_.clear();
  passing_ = {};
  sound_.clear();
  slices_.clear();
  ahead_.clear();
  granules_ = {};
  granule_ = {};
}

Verification RecordReader::wanted(const Record& record) const {
  if (std::ranges::find(anew_, record.where) != anew_.end()) return Verification::kNone;
  return VerifiedReads::wanted() ? Verification::kAll : verification_;
}

FileAhead RecordReader::through(const Source& source, std::uint64_t end) const {
  return {*source.file, ahead_, reads_on_ ? ReadAhead::kAllTheFile : end};
}

Result<std::uint64_t> RecordReader::address_of(const Record& record, const Source& source) const {
  const FilePlan& plan = *source.plan;
  if (plan.chunk_bytes == 0 || record.where.offset > kMaxLogicalBytes ||
      record.stored_bytes > plan.chunk_bytes - record.where.offset % plan.chunk_bytes)
    return fail(Code::kCorrupt,
                fmt::format("'{}': record of dataset {}, {} bytes at position {} of writer {}, "
                            "does not lie in one chunk of {}",
                            source.file->path(), record.dataset, record.stored_bytes,
                            record.where.offset, record.where.task, plan.chunk_bytes));
  return plan.address(source.local_task, record.where.offset);
}

/// Zeros: it is not to be verified.
Result<Hash128> RecordReader::wanted_hash(const Record& record, const Source& source,
                                          std::uint64_t address) const {
  if (wanted(record) == Verification::kNone) return Hash128{};
  FileAhead file = through(source, ReadAhead::kNothingMore);
  BENTO_ASSIGN(const Hash128 wanted, stored_hash(file, address, record));
  if (wanted == Hash128{} && hashes_wanted_)
    return fail(
        Code::kUnsupported,
        fmt::format("'{}': data of dataset {} at byte {} ({} bytes, written by rank {}) has "
                    "no checksum, so verify=all cannot be fulfilled: it was written with "
                    "checksum=none, or belongs to an older step of a file with "
                    "checksum=md5. Read it with verify=small",
                    source.file->path(), record.dataset, address, record.stored_bytes,
                    record.order.rank));
  return wanted;
}

Result<bool> RecordReader::has_hash(const Record& record) {
  if (StreamWriter::buffered(record.where)) return false;
  BENTO_ASSIGN(const Source source, locate_(record.where.task));
  BENTO_ASSIGN(const std::uint64_t address, address_of(record, source));
  FileAhead file = through(source, ReadAhead::kNothingMore);
  BENTO_ASSIGN(const Hash128 hash, stored_hash(file, address, record));
  return hash != Hash128{};
}

Status RecordReader::read_whole(const Record& record, const Source& source,
                                std::span<std::byte> into) {
  BENTO_ASSIGN(const std::uint64_t address, address_of(record, source));
  BENTO_ASSIGN(const Hash128 wanted, wanted_hash(record, source, address));
  FileAhead file = through(source, address + record.stored_bytes);
  if (wanted == Hash128{}) return file.read_at(address, into);
  BENTO_ASSIGN(const Hash128 found, read_hashed(file, address, into, rules_.hash));
  if (found == wanted) return {};
  return mismatch(record, *source.file, address, 0, record.stored_bytes);
}

Result<std::vector<std::byte>> RecordReader::read_stored(const Record& record) {
  if (StreamWriter::buffered(record.where)) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(record.stored_bytes));
    own_->read_buffered(record.where, 0, bytes);
    return bytes;
  }
  BENTO_ASSIGN(const Source source, locate_(record.where.task));
  BENTO_TRY(address_of(record, source));
  // What the index says of the size becomes an allocation only if so much is there.
  if (record.stored_bytes > kVerifyBytes) {
    BENTO_ASSIGN(const std::uint64_t file_bytes, source.file->size());
    if (record.stored_bytes > file_bytes)
      return fail(Code::kCorrupt,
                  fmt::format("'{}': a record of {} bytes in a file of {}", source.file->path(),
                              record.stored_bytes, file_bytes));
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(record.stored_bytes));
  BENTO_TRY(read_whole(record, source, bytes));
  return bytes;
}

Status RecordReader::read(const Record& record, std::uint64_t element_bytes,
                          std::span<const Box> parts, const Box& to_box, std::byte* to) {
  if (record.encoding != Encoding::kPlain)
    return fail(Code::kInternal, fmt::format("a filtered record of dataset {} was asked for "
                                             "elements; it has only stored bytes",
                                             record.dataset));
  if (parts.empty() || element_bytes == 0) return {};
  if (StreamWriter::buffered(record.where))
    return read_buffered(record, element_bytes, parts, to_box, to);
  if (record.stored_bytes <= kVerifyBytes && wanted(record) != Verification::kNone &&
      !reads_again(record, element_bytes, parts)) {
    for (const Box& part : parts)
      if (!part.empty()) BENTO_TRY(read_small(record, element_bytes, part, to_box, to));
    return {};
  }
  BENTO_ASSIGN(const Source source, locate_(record.where.task));
  BENTO_ASSIGN(const Place place, place_of(record, source));
  const Box& part = parts.front();
  if (parts.size() == 1 && !part.empty() && is_contiguous_in(record.box, part) &&
      is_contiguous_in(to_box, part))  // as most reads are, of all that is wanted
    return fetch(place, row_major_offset(record.box, part) * element_bytes,
                 {&part == &to_box ? to : to + row_major_offset(to_box, part) * element_bytes,
                  static_cast<std::size_t>(part.count.bytes(element_bytes))});
  return read_scattered(place, element_bytes, parts, to_box, to);
}

Status RecordReader::read_buffered(const Record& record, std::uint64_t element_bytes,
                                   std::span<const Box> parts, const Box& to_box, std::byte* to) {
  std::vector<std::byte> stored;
  for (const Box& part : parts) {
    if (part.empty()) continue;
    if (is_contiguous_in(to_box, part) && is_contiguous_in(record.box, part)) {
      own_->read_buffered(record.where, row_major_offset(record.box, part) * element_bytes,
                          {to + row_major_offset(to_box, part) * element_bytes,
                           static_cast<std::size_t>(part.elements() * element_bytes)});
      continue;
    }
    if (stored.empty()) {
      BENTO_ASSIGN(stored, read_stored(record));
    }
    copy_box(part, record.box, stored.data(), to_box, to, element_bytes);
  }
  return {};
}

Status RecordReader::read_unverified(const Record& record, std::uint64_t element_bytes,
                                     std::span<const Box> parts, const Box& to_box, std::byte* to) {
  const WrittenAnew unverified(*this, std::span(&record.where, 1));
  return read(record, element_bytes, parts, to_box, to);
}

// Such a record is verified as a whole, whatever is wanted of it: when it is read the first time.
Status RecordReader::read_small(const Record& record, std::uint64_t element_bytes, const Box& part,
                                const Box& to_box, std::byte* to) {
  if (const auto* const kept = kept_.find(record)) {
    copy_box(part, record.box, kept->data(), to_box, to, element_bytes);
    return {};
  }
  if (part.elements() * element_bytes == record.stored_bytes) {
    BENTO_ASSIGN(const Source source, locate_(record.where.task));
    const auto bytes = static_cast<std::size_t>(record.stored_bytes);
    if (is_contiguous_in(to_box, part)) {
      BENTO_TRY(
          read_whole(record, source, {to + row_major_offset(to_box, part) * element_bytes, bytes}));
      sound_.add(record);
      return {};
    }
    // It is not likely to be read again at once.
    passing_.resize(bytes);
    BENTO_TRY(read_whole(record, source, passing_));
    sound_.add(record);
    copy_box(part, record.box, passing_.data(), to_box, to, element_bytes);
    return {};
  }
  BENTO_ASSIGN(auto stored, read_stored(record));
  sound_.add(record);
  const auto& kept = kept_.put(record, std::move(stored));
  copy_box(part, record.box, kept.data(), to_box, to, element_bytes);
  return {};
}

Result<RecordReader::Place> RecordReader::place_of(const Record& record, const Source& source) {
  BENTO_ASSIGN(const std::uint64_t address, address_of(record, source));
  Place place{record, source, address, {}};
  if (wanted(record) != Verification::kAll) return place;
  if (granules_.empty() || !(granules_at_ == record.where)) {
    granules_.clear();
    granule_.clear();
    BENTO_ASSIGN(const Hash128 wanted, wanted_hash(record, source, address));
    if (wanted == Hash128{}) return place;
    FileAhead file = through(source, ReadAhead::kNothingMore);
    BENTO_ASSIGN(granules_, read_granule_table(file, address, record, rules_, wanted));
    granules_at_ = record.where;
  }
  place.granules = granules_;
  return place;
}

// Whole granules go where they are wanted; of one of which a part is wanted, the part is copied.
Status RecordReader::fetch(const Place& place, std::uint64_t from, std::span<std::byte> into,
                           Ahead ahead) {
  FileAhead file = through(place.source, place.address + place.record.stored_bytes);
  if (ahead == Ahead::kNothingMore) file.read_up_to(ReadAhead::kNothingMore);
  if (place.granules.empty()) return file.read_at(place.address + from, into);
  if (from > place.record.stored_bytes || into.size() > place.record.stored_bytes - from)
    return fail(Code::kCorrupt,
                fmt::format("'{}': a record of dataset {} at byte {} has {} bytes, {} at {} were "
                            "asked for",
                            place.source.file->path(), place.record.dataset, place.address,
                            place.record.stored_bytes, into.size(), from));
  while (!into.empty()) {
    const std::uint64_t granule = from / fti::kGranuleBytes;
    const std::uint64_t skip = from % fti::kGranuleBytes;
    const std::uint64_t bytes =
        std::min(fti::kGranuleBytes, place.record.stored_bytes - granule * fti::kGranuleBytes);
    const auto here =
        into.first(static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), bytes - skip)));
    if (here.size() == bytes) {
      BENTO_TRY(read_granule(place, granule, here));
    } else {
      if (granule_.empty() || granule_number_ != granule) {
        granule_.resize(static_cast<std::size_t>(bytes));
        granule_number_ = granule;
        auto read = read_granule(place, granule, granule_);
        if (!read) {
          granule_.clear();
          return read;
        }
      }
      std::copy_n(granule_.begin() + static_cast<std::ptrdiff_t>(skip), here.size(), here.begin());
    }
    from += here.size();
    into = into.subspan(here.size());
  }
  return {};
}

Status RecordReader::read_granule(const Place& place, std::uint64_t granule,
                                  std::span<std::byte> into) {
  const std::uint64_t from = granule * fti::kGranuleBytes;
  FileAhead file = through(place.source, place.address + place.record.stored_bytes);
  BENTO_ASSIGN(const Hash128 found,
               read_hashed(file, place.address + from, into, fti::HashKind::kXxh3));
  if (found == place.granules[static_cast<std::size_t>(granule)]) return {};
  return mismatch(place.record, *place.source.file, place.address, from, into.size());
}

}  // namespace bento
