// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/stream/stream_writer.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "core/base/checked.hpp"
#include "core/stream/granule_table.hpp"

namespace bento {

namespace {

using fti::v11::DbVar;
using fti::v11::header_bytes;

// Hashing and writing take turns on pieces of this size: a piece hashed is still in the cache when
// it is written, and while one rank waits for the inode's lock another one hashes.
constexpr std::size_t kPieceBytes = 256u << 10;

// Cuts `box` so that `front` has at most `limit` elements, at least one, and is the first run of
// its row-major order. What is left goes on the stack in reverse order.
Box cut_front(Box box, std::uint64_t limit, std::vector<Box>& rest) {
  while (box.elements() > limit) {
    unsigned d = 0;
    while (box.count[d] == 1) ++d;
    const std::uint64_t slice = box.elements() / box.count[d];
    const std::uint64_t rows = std::max<std::uint64_t>(1, limit / slice);
    if (rows >= box.count[d]) break;
    Box tail = box;
    tail.start[d] += rows;
    tail.count[d] -= rows;
    box.count[d] = rows;
    rest.push_back(tail);
  }
  return box;
}

}  // namespace

StreamWriter::StreamWriter(Index& index, std::uint32_t writer, StreamOptions options,
                           std::uint64_t limit)
    : index_(index), writer_(writer), options_(options), limit_(limit) {}

// Blocks of the old stream are not for this one to use again: their positions mean other places.
void StreamWriter::become(std::uint32_t writer) {
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

Status StreamWriter::attach(const FilePlan& plan, std::uint32_t local_task, File& file,
                            ChunkFill fill, bool reuse_dead) {
  plan_ = plan;
  local_task_ = local_task;
  file_ = &file;
  fill_ = std::move(fill);
  if (fill_.empty() || stream_bytes(fill_) == 0) {
    fill_.assign(1, fti::v11::kFileBlockBytes);
    return {};
  }
  BENTO_TRY(resume(reuse_dead));
  return {};
}

Status StreamWriter::resume(bool reuse_dead) {
  numbering_.clear();
  hash_of_hashes_ = {};
  hashed_ = false;
  miscounted_ = false;
  return walk_stream(place(), fill_, [&](const StreamBlock& block) -> Status {
    StreamBlockShape shape{block.position, {}};
    bool dead = reuse_dead;
    for (const DbVar& var : block.vars) {
      shape.capacities.push_back(var.containersize);
      dead = dead && !var.hascontent;
      hashed_ = hashed_ || var.hash != fti::Digest{};
      if (var.id == fti::kFillerId) continue;
      auto& numbering = numbering_[static_cast<DatasetNumber>(var.id)];
      numbering.containers = std::max(numbering.containers, var.containerid + 1);
      if (!var.hascontent) continue;
      numbering.bytes += var.chunksize;
      hash_of_hashes_.add(var.hash);
    }
    if (dead) reuse_.add_free(std::move(shape));
    return {};
  });
}

Status StreamWriter::write(const Record& record, std::uint64_t element_bytes,
                           std::span<const std::byte> data, const ValueRange& range,
                           bool may_grow) {
  grew_ = false;
  mergeable_ = mergeable_ && may_grow;
  if (!attached() || data.size() < kLargeRecordBytes) {
    if (attached() && !buffer_.empty() && buffer_.size() + data.size() > options_.buffer_bytes)
      BENTO_TRY(flush());
    return buffer(record, element_bytes, data, range);
  }
  mergeable_ = false;
  std::vector<Record> placed;
  auto written = write_large(record, element_bytes, data, placed);
  if (!written) {
    for (const auto& part : placed) orphans_.push_back(part.where.offset);
    return written;
  }
  for (const auto& part : placed) {
    BENTO_ASSIGN(const std::size_t position, index_.add(part));
    uncommitted_.push_back({part.dataset, position});
    note_range(uncommitted_.back(), range);
  }
  return {};
}

Status StreamWriter::buffer(const Record& record, std::uint64_t element_bytes,
                            std::span<const std::byte> data, const ValueRange& range) {
  const std::uint64_t key = hash_of(record.box, record.dataset);
  if (const auto found = by_box_.find(key); found != by_box_.end()) {
    Pending& pending = pending_[found->second];
    Record old = index_.record(pending.slot.dataset, pending.slot.position);
    if (old.dataset == record.dataset && old.box == record.box && pending.bytes == data.size() &&
        old.encoding == record.encoding && old.filter_mask == record.filter_mask) {
      std::memcpy(buffer_.data() + pending.buffer_offset, data.data(), data.size());
      old.order = record.order;
      pending.times.clear();
      index_.replace(old.dataset, pending.slot.position, old);
      note_range(pending.slot, range);
      mergeable_ = found->second + 1 == pending_.size();
      return {};
    }
  }
  if (mergeable_ && !pending_.empty() && record.encoding == Encoding::kPlain) {
    Pending& last = pending_.back();
    Record grown = last.slot.dataset == record.dataset
                       ? index_.record(last.slot.dataset, last.slot.position)
                       : Record{};
    if (last.slot.dataset == record.dataset && grown.encoding == Encoding::kPlain &&
        grown.order.collective == record.order.collective &&
        append_row_major(grown.box, record.box)) {
      buffer_.insert(buffer_.end(), data.begin(), data.end());
      last.bytes += data.size();
      grown.stored_bytes = last.bytes;
      if (keep_times_) {
        const std::uint64_t more = record.box.elements();
        if (last.times.empty()) last.times.add(grown.box.elements() - more, grown.order.time_ns);
        last.times.add(more, record.order.time_ns);
      }
      index_.replace(grown.dataset, last.slot.position, grown);
      note_range(last.slot, range_of(last.slot).joined(range));
      grew_ = true;
      by_box_.erase(last.key);
      last.key = hash_of(grown.box, grown.dataset);
      by_box_[last.key] = pending_.size() - 1;
      return {};
    }
  }
  Pending pending;
  pending.buffer_offset = buffer_.size();
  pending.bytes = data.size();
  pending.element_bytes = record.encoding == Encoding::kPlain ? element_bytes : 0;
  pending.key = key;
  Record added = record;
  added.where = {writer_, kBufferedBit | pending.buffer_offset};
  added.stored_bytes = data.size();
  BENTO_ASSIGN(const std::size_t position, index_.add(added));
  pending.slot = {record.dataset, position};
  buffer_.insert(buffer_.end(), data.begin(), data.end());
  by_box_[key] = pending_.size();
  pending_.push_back(pending);
  ++held_[record.dataset];
  uncommitted_.push_back(pending.slot);
  note_range(pending.slot, range);
  mergeable_ = true;
  if (!attached() && buffer_.size() > 2 * compacted_bytes_ + options_.buffer_bytes)
    return compact();
  return {};
}

// Before the layout is fixed nothing can be written out, so what later writes have covered is
// dropped from the buffer: it then holds each declared byte at most once.
Status StreamWriter::compact() {
  std::map<DatasetNumber, std::vector<const Pending*>> groups;
  for (const auto& pending : pending_) groups[pending.slot.dataset].push_back(&pending);

  std::vector<std::byte> fresh;
  std::vector<Pending> kept;
  for (const auto& [dataset, group] : groups) {
    std::unordered_map<std::size_t, const Pending*> by_position;
    Box bound = index_.record(dataset, group.front()->slot.position).box;
    for (const auto* pending : group) {
      by_position[pending->slot.position] = pending;
      const Box& box = index_.record(dataset, pending->slot.position).box;
      for (unsigned d = 0; d < box.rank(); ++d) {
        const std::uint64_t end =
            std::max(bound.start[d] + bound.count[d], box.start[d] + box.count[d]);
        bound.start[d] = std::min(bound.start[d], box.start[d]);
        bound.count[d] = end - bound.start[d];
      }
    }
    BENTO_ASSIGN(const Lookup lookup, index_.find(dataset, bound));
    std::vector<std::pair<Record, Pending>> visible;
    std::vector<std::size_t> whole_done;
    for (const auto& piece : lookup.pieces) {
      const auto found = by_position.find(piece.record);
      if (found == by_position.end()) continue;
      Pending pending = *found->second;
      Record record = index_.record(dataset, piece.record);
      const std::byte* from = buffer_.data() + pending.buffer_offset;
      pending.buffer_offset = fresh.size();
      if (pending.element_bytes == 0) {  // filtered: cannot be sliced, kept whole, once
        if (std::find(whole_done.begin(), whole_done.end(), piece.record) != whole_done.end())
          continue;
        whole_done.push_back(piece.record);
        fresh.insert(fresh.end(), from, from + pending.bytes);
      } else {
        pending.bytes = piece.part.elements() * pending.element_bytes;
        fresh.resize(fresh.size() + pending.bytes);
        copy_box(piece.part, record.box, from, piece.part, fresh.data() + pending.buffer_offset,
                 pending.element_bytes);
        if (!pending.times.empty()) {
          pending.times = pending.times.within(record.box, piece.part);
          record.order.time_ns = pending.times.first_time();
        }
        record.box = piece.part;
        record.stored_bytes = pending.bytes;
      }
      record.where = {writer_, kBufferedBit | pending.buffer_offset};
      pending.key = hash_of(record.box, dataset);
      visible.emplace_back(record, pending);
    }
    index_.erase_if(dataset, [](const Record&) { return true; });
    for (auto& [record, pending] : visible) {
      BENTO_ASSIGN(pending.slot.position, index_.add(record));
      kept.push_back(pending);
    }
  }

  buffer_ = std::move(fresh);
  pending_ = std::move(kept);
  compacted_bytes_ = buffer_.size();
  by_box_.clear();
  held_.clear();
  uncommitted_.clear();
  told_ = 0;
  ranges_.clear();  // nothing is known of what is left of a record
  mergeable_ = false;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    by_box_[pending_[i].key] = i;
    ++held_[pending_[i].slot.dataset];
    uncommitted_.push_back(pending_[i].slot);
  }
  return {};
}

void StreamWriter::read_buffered(const Location& where, std::uint64_t skip,
                                 std::span<std::byte> into) const {
  std::memcpy(into.data(), buffer_.data() + (where.offset & ~kBufferedBit) + skip, into.size());
}

void StreamWriter::forget(DatasetNumber dataset) {
  if (held_.erase(dataset) != 0) {
    std::erase_if(pending_,
                  [&](const Pending& pending) { return pending.slot.dataset == dataset; });
    by_box_.clear();
    for (std::size_t i = 0; i < pending_.size(); ++i) by_box_[pending_[i].key] = i;
  }
  const auto theirs = [&](const Slot& slot) { return slot.dataset == dataset; };
  for (const Slot& slot : uncommitted_) {
    if (!theirs(slot)) continue;
    const Location where = index_.record(slot.dataset, slot.position).where;
    if (!buffered(where)) orphans_.push_back(where.offset);
  }
  told_ -= static_cast<std::size_t>(std::count_if(
      uncommitted_.begin(), uncommitted_.begin() + static_cast<std::ptrdiff_t>(told_), theirs));
  std::erase_if(uncommitted_, theirs);
  std::erase_if(times_, [&](const auto& each) { return each.first.first == dataset; });
  mergeable_ = false;
}

ValueRange StreamWriter::range_of(const Slot& slot) const {
  const auto found = ranges_.find({slot.dataset, slot.position});
  return found == ranges_.end() ? ValueRange::everything() : found->second;
}

void StreamWriter::note_range(const Slot& slot, const ValueRange& range) {
  if (range == ValueRange::everything())
    ranges_.erase({slot.dataset, slot.position});
  else
    ranges_[{slot.dataset, slot.position}] = range;
}

Status StreamWriter::next_chunk() {
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

// Data, and behind that of a large plain record the hashes of its granules; sets the record's hash.
Status StreamWriter::write_hashed(std::uint64_t address, std::span<const std::byte> data,
                                  Record& record) {
  const fti::HashKind kind = record_kind();
  record.hash = {};
  if (kind == fti::HashKind::kNone) return file_->write_at(address, data);
  if (data.size() <= kPieceBytes) {
    record.hash = fti::chunk_hash(kind, data);
    return file_->write_at(address, data);
  }
  fti::GranuleHasher granules;
  std::optional<fti::Md5> md5;
  if (kind == fti::HashKind::kMd5) md5.emplace();
  for (std::size_t done = 0; done < data.size(); done += kPieceBytes) {
    const auto piece = data.subspan(done, std::min(kPieceBytes, data.size() - done));
    granules.update(piece);
    if (md5) md5->update(piece);
    BENTO_TRY(file_->write_at(address + done, piece));
  }
  const auto hashes = granules.hashes();
  record.hash = md5 ? md5->digest() : fti::hash_of_granules(hashes);
  if (record.encoding != Encoding::kPlain || granule_table_bytes(rule_, data.size()) == 0)
    return {};
  return file_->write_at(address + data.size(), encode_granule_table(rule_, hashes, record.hash));
}

DbVar StreamWriter::next_var(const Record& record, std::uint64_t stream_at,
                             std::uint64_t capacity) {
  auto& numbering = numbering_[record.dataset];
  DbVar var;
  var.id = static_cast<std::int32_t>(record.dataset);
  var.idx = var.id;
  var.containerid = numbering.containers++;
  var.hascontent = true;
  var.dptr = numbering.bytes;
  var.fptr = stream_at;
  var.chunksize = record.stored_bytes;
  var.containersize = capacity;
  var.hash = record.hash;
  numbering.bytes += record.stored_bytes;
  hash_of_hashes_.add(record.hash);
  hashed_ = hashed_ || record.hash != Hash128{};
  return var;
}

Status StreamWriter::write_large(Record record, std::uint64_t element_bytes,
                                 std::span<const std::byte> data, std::vector<Record>& placed) {
  std::vector<Box> todo{record.box};
  while (!todo.empty()) {
    Box box = todo.back();
    todo.pop_back();
    const bool sliceable = record.encoding == Encoding::kPlain;
    const auto bytes_of = [&](const Box& b) {
      return sliceable ? b.elements() * element_bytes : data.size();
    };
    // Where the data would begin in a chunk that is filled up to `used`.
    const auto data_at = [&](std::uint64_t used) {
      return round_up(used + header_bytes(2), options_.align);
    };
    const auto room_behind = [&](std::uint64_t used) {
      return data_at(used) < plan_.chunk_bytes ? plan_.chunk_bytes - data_at(used) : 0;
    };
    // What a container needs for so much data: behind a large plain record lie its granules'
    // hashes.
    const auto with_table = [&](std::uint64_t bytes) {
      return sliceable ? bytes + granule_table_bytes(rule_, bytes) : bytes;
    };
    const std::uint64_t smallest = with_table(sliceable ? element_bytes : data.size());
    if (smallest > room_behind(0))
      return fail(
          Code::kNoSpace,
          fmt::format(
              "writer {}: a piece of {} bytes fits no chunk of {} bytes in '{}'; use a larger "
              "chunk= (errno = {})",
              writer_, smallest, plan_.chunk_bytes, file_->path(), EFBIG),
          EFBIG);
    // Compressed data of the next step may be a little longer: its container gets some slack.
    const auto capacity_of = [&](const Box& b) {
      return sliceable ? with_table(bytes_of(b))
                       : std::min(data.size() + data.size() / 8, room_behind(0));
    };
    Record part = record;
    auto free = reuse_.take_large(with_table(bytes_of(box)));
    if (!free && sliceable && bytes_of(box) >= 2 * std::max(kLargeRecordBytes, element_bytes)) {
      free = reuse_.take_for_part(with_table(bytes_of(box)), smallest);
      // Parts below kLargeRecordBytes would leave blocks that nothing fits.
      if (free)
        box = cut_front(box,
                        std::min(data_bytes_within(rule_, free->capacities[1]),
                                 bytes_of(box) - kLargeRecordBytes) /
                            element_bytes,
                        todo);
    }
    if (free) {
      part.box = box;
      part.stored_bytes = bytes_of(box);
      const auto bytes = data.first(static_cast<std::size_t>(part.stored_bytes));
      BENTO_TRY(write_large_part(part, bytes, free->capacities[1], &*free, placed));
      data = data.subspan(bytes.size());
      continue;
    }
    if (const std::uint64_t here = room_behind(fill_.back()); capacity_of(box) > here) {
      // What fits the next chunk goes there whole. What fits none fills the rest of this one first,
      // if that is worth a record.
      const bool worth_it = sliceable && here >= smallest &&
                            here >= std::min(kLargeRecordBytes, plan_.chunk_bytes / 2);
      if (with_table(bytes_of(box)) <= room_behind(0) || !worth_it) {
        BENTO_TRY(next_chunk());
        todo.push_back(box);
        continue;
      }
      box = cut_front(box, data_bytes_within(rule_, here) / element_bytes, todo);
    }
    part.box = box;
    part.stored_bytes = bytes_of(box);
    const auto bytes = data.first(static_cast<std::size_t>(part.stored_bytes));
    BENTO_TRY(write_large_part(part, bytes, capacity_of(box), nullptr, placed));
    data = data.subspan(bytes.size());
  }
  return {};
}

// Data first, then the header that describes it. A block that is used again keeps its head and the
// capacities: only what its dbvars say of the content changes.
Status StreamWriter::write_large_part(Record part, std::span<const std::byte> data,
                                      std::uint64_t capacity, const StreamBlockShape* into,
                                      std::vector<Record>& placed) {
  const std::uint64_t begin = into != nullptr ? into->position % plan_.chunk_bytes : fill_.back();
  const Position block =
      into != nullptr ? into->position : (fill_.size() - 1) * plan_.chunk_bytes + begin;
  const std::uint64_t filler_bytes =
      into != nullptr ? into->capacities[0]
                      : round_up(begin + header_bytes(2), options_.align) - begin - header_bytes(2);
  part.where = {writer_, block + header_bytes(2) + filler_bytes};
  part.header_distance = static_cast<std::uint32_t>(fti::v11::kDbVarBytes + filler_bytes);
  BENTO_TRY(write_hashed(plan_.address(local_task_, part.where.offset), data, part));

  if (miscounted_) BENTO_TRY(resume(false));
  const std::uint64_t filler_at = stream_offset(fill_, plan_.chunk_bytes, block) + header_bytes(2);
  const std::array<DbVar, 2> vars = {fti::v11::make_filler(filler_at, filler_bytes, record_kind()),
                                     next_var(part, filler_at + filler_bytes, capacity)};
  miscounted_ = true;
  if (into != nullptr) {
    reused_ = true;
    BENTO_TRY(rewrite_vars(place(), {block, {vars.begin(), vars.end()}}));
  } else {
    // The last byte of the slack, so that the file is as long as the stream says.
    const std::uint64_t hashes = part.encoding == Encoding::kPlain && part.hash != Hash128{}
                                     ? granule_table_bytes(rule_, part.stored_bytes)
                                     : 0;
    if (capacity > part.stored_bytes + hashes)
      BENTO_TRY(file_->write_at(plan_.address(local_task_, part.where.offset) + capacity - 1,
                                std::array{std::byte{0}}));
    BENTO_TRY(file_->write_at(plan_.address(local_task_, block), fti::v11::encode_header(vars)));
    fill_.back() = begin + header_bytes(2) + filler_bytes + capacity;
  }
  miscounted_ = false;
  bytes_written_ += part.stored_bytes;
  reuse_.note_written({block, {filler_bytes, capacity}}, std::array{part.where.offset});
  placed.push_back(part);
  return {};
}

Status StreamWriter::write_block(std::span<const Pending> group, const StreamBlockShape* into) {
  StreamBlock block;
  StreamBlockShape shape;
  std::vector<Record> records;
  block.vars.reserve(group.size());
  records.reserve(group.size());
  const std::uint64_t begin = into != nullptr ? into->position % plan_.chunk_bytes : fill_.back();
  block.position =
      into != nullptr ? into->position : (fill_.size() - 1) * plan_.chunk_bytes + begin;
  shape.position = block.position;
  const std::uint64_t header = header_bytes(static_cast<std::uint32_t>(group.size()));
  const std::uint64_t stream_at = stream_offset(fill_, plan_.chunk_bytes, block.position);
  const std::uint64_t first = group.front().buffer_offset;

  std::uint64_t data_bytes = 0;
  for (const auto& pending : group) data_bytes += pending.bytes;
  const std::span<const std::byte> data(buffer_.data() + first,
                                        static_cast<std::size_t>(data_bytes));
  BENTO_TRY(file_->write_at(plan_.address(local_task_, block.position + header), data));

  if (miscounted_) BENTO_TRY(resume(false));
  std::uint64_t at = 0;
  std::vector<Position> positions;
  for (const auto& pending : group) {
    Record record = index_.record(pending.slot.dataset, pending.slot.position);
    const auto bytes =
        data.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(pending.bytes));
    record.hash = fti::chunk_hash(record_kind(), bytes);
    record.where = {writer_, block.position + header + at};
    const std::uint64_t var_at =
        fti::v11::kDataBlockHeadBytes + block.vars.size() * fti::v11::kDbVarBytes;
    record.header_distance = static_cast<std::uint32_t>(header + at - var_at);
    block.vars.push_back(next_var(record, stream_at + header + at, pending.bytes));
    shape.capacities.push_back(pending.bytes);
    positions.push_back(record.where.offset);
    records.push_back(record);
    at += pending.bytes;
  }
  miscounted_ = true;
  if (into != nullptr) {
    reused_ = true;
    BENTO_TRY(rewrite_vars(place(), block));
  } else {
    BENTO_TRY(file_->write_at(plan_.address(local_task_, block.position),
                              fti::v11::encode_header(block.vars)));
    fill_.back() = begin + header + data_bytes;
  }
  miscounted_ = false;
  bytes_written_ += data_bytes;
  reuse_.note_written(std::move(shape), positions);
  for (std::size_t i = 0; i < group.size(); ++i) {
    index_.replace(group[i].slot.dataset, group[i].slot.position, records[i]);
    note_times(group[i].slot, group[i].times);
  }
  return {};
}

// Steps that write the same pieces again find the block of an earlier step.
Result<bool> StreamWriter::flush_into_free(std::span<const Pending> group) {
  std::vector<std::uint64_t> capacities;
  capacities.reserve(group.size());
  for (const auto& pending : group) capacities.push_back(pending.bytes);
  const auto free = reuse_.take_small(capacities);
  if (!free) return false;
  BENTO_TRY(write_block(group, &*free));
  return true;
}

std::uint64_t StreamWriter::new_bytes() const {
  const std::uint64_t written = bytes_written_ - bytes_committed_;
  std::uint64_t replaced = 0;
  for (const Slot& slot : uncommitted_)
    replaced += reuse_.replaced_bytes(index_.record(slot.dataset, slot.position));
  return written - std::min(written, replaced);
}

void StreamWriter::forget_unseen(const LivenessPlan& plan, std::uint64_t step,
                                 std::uint64_t oldest) {
  const auto live = plan.live.find(writer_);
  if (live != plan.live.end())
    reuse_.only_these_live(plan.all, plan.marked, live->second, step, oldest);
}

void StreamWriter::mark_committed(std::uint64_t step, std::uint64_t oldest,
                                  std::span<const DatasetNumber> deleted) {
  std::vector<Record> records;
  for (const Slot& slot : uncommitted_)
    records.push_back(index_.record(slot.dataset, slot.position));
  std::sort(records.begin(), records.end(),
            [](const Record& a, const Record& b) { return a.order < b.order; });
  reuse_.committed(records, deleted, step, oldest);
  uncommitted_.clear();
  told_ = 0;
  ranges_.clear();
  times_.clear();
  bytes_committed_ = bytes_written_;
}

std::uint64_t StreamWriter::bytes_in_front(const StreamOptions& options) {
  return round_up(fti::v11::kFileBlockBytes + header_bytes(2), options.align);
}

Status StreamWriter::flush(bool beyond_limit) {
  beyond_limit_ = beyond_limit;
  auto flushed = flush_buffer();
  beyond_limit_ = false;
  return flushed;
}

Status StreamWriter::flush_buffer() {
  mergeable_ = false;
  std::size_t done = 0;
  Status status;
  while (done < pending_.size() && status) {
    const Pending& first = pending_[done];
    const std::uint64_t smallest = header_bytes(1) + first.bytes;
    if (first.bytes >= kLargeRecordBytes || smallest > plan_.chunk_bytes) {
      std::vector<Record> placed;
      const std::span<const std::byte> data(buffer_.data() + first.buffer_offset,
                                            static_cast<std::size_t>(first.bytes));
      status = write_large(index_.record(first.slot.dataset, first.slot.position),
                           first.element_bytes, data, placed);
      if (!status) {
        for (const auto& part : placed) orphans_.push_back(part.where.offset);
        break;
      }
      std::vector<WriteTimes> times(placed.size());
      std::uint64_t cut = 0;
      for (std::size_t i = 0; i < placed.size() && !first.times.empty(); ++i) {
        times[i] = first.times.slice(cut, cut + placed[i].box.elements());
        placed[i].order.time_ns = times[i].first_time();
        cut += placed[i].box.elements();
      }
      index_.replace(first.slot.dataset, first.slot.position, placed.front());
      note_times(first.slot, std::move(times.front()));
      for (std::size_t i = 1; i < placed.size() && status; ++i) {
        auto position = index_.add(placed[i]);
        if (!position) {
          status = fail(std::move(position).error());
          break;
        }
        uncommitted_.push_back({first.slot.dataset, *position});
        note_range(uncommitted_.back(), range_of(first.slot));
        note_times(uncommitted_.back(), std::move(times[i]));
      }
      ++done;
      continue;
    }
    // As many small records as fit one block, contiguous in the buffer, share it.
    const auto group_end = [&](std::uint64_t limit) {
      std::size_t end = done;
      std::uint64_t bytes = fti::v11::kDataBlockHeadBytes;
      limit = std::min(limit, options_.block_bytes);
      while (end < pending_.size() && pending_[end].bytes < kLargeRecordBytes &&
             bytes + fti::v11::kDbVarBytes + pending_[end].bytes <= limit &&
             (end == done || pending_[end].buffer_offset ==
                                 pending_[end - 1].buffer_offset + pending_[end - 1].bytes)) {
        bytes += fti::v11::kDbVarBytes + pending_[end].bytes;
        ++end;
      }
      return end;
    };
    const std::size_t most = group_end(plan_.chunk_bytes);
    auto again = flush_into_free(std::span(pending_).subspan(done, most - done));
    if (!again) {
      status = fail(std::move(again).error());
      break;
    }
    if (*again) {
      done = most;
      continue;
    }
    if (smallest > room()) {
      status = next_chunk();
      continue;
    }
    const std::size_t end = std::max(group_end(room()), done + 1);
    status = write_block(std::span(pending_).subspan(done, end - done), nullptr);
    if (status) done = end;
  }

  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(done));
  by_box_.clear();
  held_.clear();
  if (pending_.empty()) {
    buffer_.clear();
  } else {
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      by_box_[pending_[i].key] = i;
      ++held_[pending_[i].slot.dataset];
    }
  }
  return status;
}

Status StreamWriter::write_file_block(std::uint64_t time_ns, bool complete) {
  if (miscounted_) BENTO_TRY(resume(false));
  // The container's rule also after a session without hashes, if some records have one.
  fti::HashKind kind = hashed_ ? rule_ : record_kind();
  if ((kind == fti::HashKind::kMd5 || reused_) && !complete) kind = fti::HashKind::kNone;
  fti::ChecksumText checksum = hash_of_hashes_.text();
  if (kind == fti::HashKind::kMd5) {
    BENTO_ASSIGN(checksum, md5_of_stream(place(), fill_));
  }
  return bento::write_file_block(place(), fill_, kind, checksum, time_ns);
}

}  // namespace bento
