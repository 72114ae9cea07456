// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/stream/block_writer.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "core/base/checked.hpp"
#include "core/base/guarded.hpp"
#include "core/stream/granule_table.hpp"
#include "core/stream/stream_gate.hpp"

namespace bento {

using fti::v11::DbVar;
using fti::v11::header_bytes;

namespace {

// Hashing and writing take turns on pieces of this size: a piece hashed is still in the cache when
// it is written, and while one rank waits for the inode's lock another one hashes.
constexpr std::size_t kPieceBytes = 256u << 10;

}  // namespace

// Blocks of the old stream are not for this one to use again: their positions mean other places.
void BlockWriter::become(std::uint32_t writer) {
  writer_ = writer;
  plan_ = {};
  local_task_ = 0;
  file_ = nullptr;
  fill_.clear();
  numbering_.clear();
  hash_of_hashes_ = {};
  miscounted_ = false;
  hashed_ = false;
  reuse_ = {};
  reused_ = false;
  orphans_.clear();
}

Status BlockWriter::attach(const FilePlan& plan, std::uint32_t local_task, File& file,
                           ChunkFill fill, const DeadSpace& dead) {
  plan_ = plan;
  local_task_ = local_task;
  file_ = &file;
  fill_ = std::move(fill);
  if (fill_.empty() || stream_bytes(fill_) == 0) {
    fill_.assign(1, rules_.head_bytes());
    return {};
  }
  BENTO_TRY(resume(dead));
  reuse_.release(dead.oldest);
  return {};
}

Status BlockWriter::resume(const DeadSpace& dead) {
  numbering_.clear();
  hash_of_hashes_ = {};
  hashed_ = false;
  miscounted_ = false;
  return walk_stream(place(), fill_, [&](const StreamBlock& block) -> Status {
    StreamBlockShape shape{block.position, {}};
    bool empty = true;
    std::optional<std::uint64_t> died = 0;  // the last of them; nothing: one does not say
    for (const DbVar& var : block.vars) {
      shape.capacities.push_back(var.containersize);
      empty = empty && !var.hascontent;
      hashed_ = hashed_ || var.hash != fti::Digest{};
      if (var.id == fti::kFillerId) continue;
      auto& numbering = numbering_[static_cast<DatasetNumber>(var.id)];
      numbering.containers = std::max(numbering.containers, var.containerid + 1);
      if (!var.hascontent) {
        const auto step = step_of(var, dead.newest);
        died = died && step ? std::optional(std::max(*died, *step)) : std::nullopt;
        continue;
      }
      numbering.bytes += var.chunksize;
      hash_of_hashes_.add(var.hash);
    }
    if (!empty) return {};
    const std::uint64_t needed_before = dead.needed_before(died);
    if (needed_before == 0)
      reuse_.add_free(std::move(shape));
    else if (needed_before != DeadSpace::kNever)
      reuse_.add_dead(std::move(shape), needed_before);
    return {};
  });
}

Status BlockWriter::next_chunk() {
  if (!beyond_limit_ && fill_.size() + 1 > plan_.blocks_within(limit_))
    return fail(
        Code::kNoSpace,
        fmt::format("writer {}: block {} would take '{}' beyond {} bytes, and only the next "
                    "H5Fflush can go on in another physical file; flush more often, or use another "
                    "chunk= (now {}) or more files= (errno = {})",
                    writer_, fill_.size(), file_->path(), limit_, plan_.chunk_bytes, EFBIG),
        EFBIG);
  fill_.push_back(0);
  return {};
}

std::uint64_t BlockWriter::data_at(std::uint64_t used) const {
  const std::uint64_t behind = used + header_bytes(rules_.large_containers());
  return rules_.for_fti ? behind : round_up(behind, options_.align);
}

std::uint64_t BlockWriter::data_at(std::uint64_t used, const Room& room) const {
  if (room.alignment > 1) return aligned_at(used, room.alignment);
  const std::uint64_t capacity = room.capacity;
  const std::uint64_t stripe = options_.stripe_bytes;
  const std::uint64_t nearest = data_at(used);
  if (rules_.for_fti) return nearest;
  const bool striped =
      stripe != 0 && capacity / kStripesPerRecord >= stripe && plan_.fsblksize % stripe == 0;
  const std::uint64_t wanted = striped ? round_up(nearest, stripe) : nearest + room.shift;
  return wanted + capacity <= plan_.chunk_bytes ? wanted : nearest;
}

std::uint64_t BlockWriter::room_behind(std::uint64_t used) const {
  return data_at(used) < plan_.chunk_bytes ? plan_.chunk_bytes - data_at(used) : 0;
}

// Data, and behind that of a large plain record the hashes of its granules; sets the record's hash.
Status BlockWriter::write_hashed(std::uint64_t address, ByteSource& data, Record& record) {
  const fti::HashKind kind = record_kind();
  const bool hashed = kind != fti::HashKind::kNone;
  const std::uint64_t bytes = record.stored_bytes;
  fti::GranuleHasher granules;
  std::optional<fti::Md5> md5;
  if (kind == fti::HashKind::kMd5) md5.emplace();
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t most = hashed ? kPieceBytes : bytes;
    BENTO_ASSIGN(const auto piece, data.take(std::min(most, bytes - done)));
    if (hashed) granules.update(piece);
    if (md5) md5->update(piece);
    BENTO_TRY(file_->write_at(address + done, piece));
    done += piece.size();
  }
  record.hash = {};
  if (!hashed) return {};
  const auto hashes = granules.hashes();
  record.hash = md5 ? md5->digest() : fti::hash_of_granules(hashes);
  if (record.encoding != Encoding::kPlain || granule_table_bytes(rules_, bytes) == 0) return {};
  return file_->write_at(address + bytes, encode_granule_table(rules_, hashes, record.hash));
}

DbVar BlockWriter::next_var(DatasetNumber dataset, std::uint64_t bytes, const Hash128& hash,
                            std::uint64_t stream_at, std::uint64_t capacity) {
  auto& numbering = numbering_[dataset];
  DbVar var;
  var.id = static_cast<std::int32_t>(dataset);
  var.idx = var.id;
  var.containerid = numbering.containers++;
  var.hascontent = true;
  var.dptr = numbering.bytes;
  var.fptr = stream_at;
  var.chunksize = bytes;
  var.containersize = capacity;
  var.hash = hash;
  set_step(var, committed_);
  numbering.bytes += bytes;
  hash_of_hashes_.add(hash);
  hashed_ = hashed_ || hash != Hash128{};
  return var;
}

bool BlockWriter::is_small(const SmallRecord& record) const {
  return record.bytes < kLargeRecordBytes && header_bytes(1) + record.bytes <= plan_.chunk_bytes &&
         alignment_of(record.dataset, record.bytes) == 1;
}

std::size_t BlockWriter::fitting(std::span<const SmallRecord> records, std::uint64_t bytes) const {
  bytes = std::min(bytes, options_.block_bytes);
  std::uint64_t used = fti::v11::kDataBlockHeadBytes;
  std::size_t count = 0;
  for (; count < records.size(); ++count) {
    used += fti::v11::kDbVarBytes + records[count].bytes;
    if (used > bytes) break;
  }
  return count;
}

std::vector<BlockWriter::Slot> BlockWriter::slots_of(std::span<const SmallRecord> records) {
  std::vector<Slot> slots;
  slots.reserve(records.size());
  std::uint64_t from = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    slots.push_back({records[i].bytes, i, from});
    from += records[i].bytes;
  }
  return slots;
}

// Steps that write the same pieces again find the block of an earlier step.
Result<std::vector<BlockWriter::Placed>> BlockWriter::write_small(
    std::span<const SmallRecord> records, std::span<const std::byte> data) {
  const auto most = records.first(fitting(records, plan_.chunk_bytes));
  std::vector<Placed> placed(most.size());
  if (reuse_.has_small()) {
    std::vector<std::uint64_t> capacities;
    capacities.reserve(most.size());
    for (const auto& record : most) capacities.push_back(record.bytes);
    if (const auto free = reuse_.take_small(capacities)) {
      BENTO_TRY(write_block(most, data, slots_of(most), &*free, placed));
      return placed;
    }
    // FTI would find fillers, which are what is left empty.
    if (!rules_.for_fti) {
      auto written = guarded([&] { return write_fitting(most, data, placed); });
      if (written) return placed;
      for (const auto& place : placed)
        if (place.header_distance != 0) orphans_.push_back(place.position);
      return fail(std::move(written).error());
    }
  }
  if (header_bytes(1) + records.front().bytes > room()) BENTO_TRY(next_chunk());
  const std::size_t count = std::max<std::size_t>(fitting(records, room()), 1);
  placed.resize(count);
  BENTO_TRY(write_block(records, data, slots_of(records.first(count)), nullptr, placed));
  return placed;
}

// Those that find a container in a free block, then the others into new blocks, each in the order
// of their data.
Status BlockWriter::write_fitting(std::span<const SmallRecord> records,
                                  std::span<const std::byte> data, std::vector<Placed>& placed) {
  constexpr int kMostBlocks = 16;
  std::vector<Slot> left = slots_of(records);
  for (int i = 0; i < kMostBlocks && !left.empty(); ++i) {
    std::vector<std::uint64_t> sizes;
    sizes.reserve(left.size());
    for (const Slot& slot : left) sizes.push_back(slot.capacity);
    const auto free = reuse_.take_fitting(sizes);
    if (!free) break;
    std::vector<Slot> slots;
    slots.reserve(free->block.capacities.size());
    for (std::size_t k = 0; k < free->block.capacities.size(); ++k) {
      const std::size_t which = free->fit.record_of[k];
      slots.push_back(which == ContainerFit::kNone ? Slot{} : left[which]);
      slots.back().capacity = free->block.capacities[k];
      if (which != ContainerFit::kNone) left[which].record = Slot::kEmpty;
    }
    BENTO_TRY(write_block(records, data, slots, &free->block, placed));
    std::erase_if(left, [](const Slot& slot) { return slot.record == Slot::kEmpty; });
  }
  // Where all records grow a little from step to step, none would ever fit what there is. The last
  // container of a block ends with its record, so that the file need not be made longer.
  constexpr std::uint64_t kRoomPart = 8;
  for (Slot& slot : left) slot.capacity += slot.capacity / kRoomPart;
  for (std::span<Slot> rest = left; !rest.empty();) {
    std::vector<SmallRecord> sizes;
    sizes.reserve(rest.size());
    for (const Slot& slot : rest) sizes.push_back({records[slot.record].dataset, slot.capacity});
    if (header_bytes(1) + sizes.front().bytes > room()) BENTO_TRY(next_chunk());
    const std::size_t count = std::max<std::size_t>(fitting(sizes, room()), 1);
    rest[count - 1].capacity = records[rest[count - 1].record].bytes;
    BENTO_TRY(write_block(records, data, rest.first(count), nullptr, placed));
    rest = rest.subspan(count);
  }
  return {};
}

// In one call. What lies one behind the other already is not copied; of a block that is used again,
// nothing between the records is anybody's.
Status BlockWriter::write_data(std::span<const SmallRecord> records,
                               std::span<const std::byte> data, std::span<const Slot> slots,
                               std::uint64_t address) {
  const auto bytes_of = [&](const Slot& slot) {
    return slot.record == Slot::kEmpty ? 0 : records[slot.record].bytes;
  };
  const std::uint64_t from = slots.front().from;
  std::uint64_t used = 0;  // up to the end of the last record
  std::uint64_t at = 0;
  bool together = true;
  for (const Slot& slot : slots) {
    if (bytes_of(slot) != 0) {
      used = at + bytes_of(slot);
      together = together && slot.from == from + at;
    }
    at += slot.capacity;
  }
  if (together)
    return file_->write_at(
        address, data.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(used)));
  std::vector<std::byte> gathered(static_cast<std::size_t>(used));
  at = 0;
  for (const Slot& slot : slots) {
    const auto bytes =
        data.subspan(static_cast<std::size_t>(slot.from), static_cast<std::size_t>(bytes_of(slot)));
    std::copy(bytes.begin(), bytes.end(), gathered.begin() + static_cast<std::ptrdiff_t>(at));
    at += slot.capacity;
  }
  return file_->write_at(address, gathered);
}

// Data first, then the header that describes it. A block that is used again keeps its head and the
// capacities: only what its dbvars say of the content changes.
Status BlockWriter::write_block(std::span<const SmallRecord> records,
                                std::span<const std::byte> data, std::span<const Slot> slots,
                                const StreamBlockShape* into, std::vector<Placed>& placed) {
  StreamBlock block;
  StreamBlockShape shape;
  block.vars.reserve(slots.size());
  const std::uint64_t begin = into != nullptr ? into->position % plan_.chunk_bytes : fill_.back();
  block.position =
      into != nullptr ? into->position : (fill_.size() - 1) * plan_.chunk_bytes + begin;
  shape.position = block.position;
  const std::uint64_t header = header_bytes(static_cast<std::uint32_t>(slots.size()));
  const std::uint64_t stream_at = stream_offset(fill_, plan_.chunk_bytes, block.position);
  BENTO_TRY(write_data(records, data, slots, plan_.address(local_task_, block.position + header)));

  if (miscounted_) BENTO_TRY(resume({}));
  std::uint64_t at = header;
  std::uint64_t data_bytes = 0;
  std::vector<Position> positions;
  std::vector<std::pair<std::size_t, Placed>> now;
  now.reserve(slots.size());
  positions.reserve(slots.size());
  for (const Slot& slot : slots) {
    shape.capacities.push_back(slot.capacity);
    if (slot.record == Slot::kEmpty) {
      block.vars.push_back(fti::v11::make_filler(stream_at + at, slot.capacity, record_kind()));
      at += slot.capacity;
      continue;
    }
    const SmallRecord& record = records[slot.record];
    const auto hash = fti::chunk_hash(
        record_kind(),
        data.subspan(static_cast<std::size_t>(slot.from), static_cast<std::size_t>(record.bytes)));
    const std::uint64_t var_at =
        fti::v11::kDataBlockHeadBytes + block.vars.size() * fti::v11::kDbVarBytes;
    now.emplace_back(slot.record,
                     Placed{block.position + at, static_cast<std::uint32_t>(at - var_at), hash});
    block.vars.push_back(
        next_var(record.dataset, record.bytes, hash, stream_at + at, slot.capacity));
    positions.push_back(block.position + at);
    data_bytes += record.bytes;
    at += slot.capacity;
  }
  miscounted_ = true;
  if (into != nullptr) {
    reused_ = true;
    BENTO_TRY(rewrite_vars(place(), block));
  } else {
    BENTO_TRY(file_->write_at(plan_.address(local_task_, block.position),
                              fti::v11::encode_header(block.vars)));
    fill_.back() = begin + at;
  }
  miscounted_ = false;
  bytes_written_ += data_bytes;
  reuse_.note_written(std::move(shape), positions);
  for (const auto& [record, place] : now) placed[record] = place;
  return {};
}

Status BlockWriter::write_file_block(std::uint64_t time_ns, bool complete) {
  if (miscounted_) BENTO_TRY(resume({}));
  // The container's rule also after a session without hashes, if some records have one.
  fti::HashKind kind = hashed_ ? rules_.hash : record_kind();
  if ((kind == fti::HashKind::kMd5 || reused_) && !complete) kind = fti::HashKind::kNone;
  fti::ChecksumText checksum = hash_of_hashes_.text();
  // Whether FTI may come in is for the close to say, which knows the whole index.
  if (rules_.for_fti) BENTO_TRY(write_gate(place(), {}));
  if (kind == fti::HashKind::kMd5) {
    BENTO_ASSIGN(checksum, md5_of_stream(place(), fill_));
  }
  return bento::write_file_block(place(), fill_, kind, checksum, time_ns);
}

}  // namespace bento
