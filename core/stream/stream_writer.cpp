// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/stream/stream_writer.hpp"

#include <algorithm>

#include "core/base/checked.hpp"

namespace bento {

namespace {
/// Records that grew to so many bytes make room for the next one: memory that is used again costs
/// far less than its first use.
constexpr std::uint64_t kMostGrownBytes = 1u << 20;
}  // namespace

StreamWriter::StreamWriter(Index& index, std::uint32_t writer, StreamOptions options,
                           std::uint64_t limit, CountWritten count_written)
    : index_(index),
      count_written_(std::move(count_written)),
      buffer_bytes_(options.buffer_bytes),
      blocks_(writer, options, limit),
      buffer_(index) {}

Status StreamWriter::attach(const FilePlan& plan, std::uint32_t local_task, File& file,
                            ChunkFill fill, const DeadSpace& dead) {
  BENTO_TRY(blocks_.attach(plan, local_task, file, std::move(fill), dead));
  buffer_.limit_grown(kMostGrownBytes, kLongestGrownBytes);
  return {};
}

void StreamWriter::become(std::uint32_t writer) {
  blocks_.become(writer);
  buffer_.limit_grown(RecordBuffer::kNoLimit, RecordBuffer::kNoLimit);
}

Status StreamWriter::write(const Record& record, std::uint64_t element_bytes,
                           std::span<const std::byte> data, const ValueRange& range,
                           JoinsWith joins) {
  SpanSource source(data);
  return write(record, element_bytes, source, data.size(), range, joins);
}

Status StreamWriter::write(const Record& record, std::uint64_t element_bytes, ByteSource& data,
                           std::uint64_t bytes, const ValueRange& range, JoinsWith joins) {
  return add({record, element_bytes, range, nullptr, joins}, data, bytes);
}

Status StreamWriter::add(const Write& write, ByteSource& data, std::uint64_t bytes) {
  grew_ = false;
  if (!attached() || bytes < kLargeRecordBytes) {
    if (attached() && !buffer_.empty() && buffer_.bytes() + bytes > buffer_bytes_)
      BENTO_TRY(make_room(bytes));
    std::vector<std::byte> room;
    BENTO_ASSIGN(const auto whole, take_whole(data, bytes, room));
    return buffer(write, whole);
  }
  buffer_.end_growth();
  BENTO_ASSIGN(const std::vector<Record> placed,
               blocks_.write_large(write.record, write.element_bytes, data, bytes));
  Large large{write.record.box, bytes, {}, {}};
  for (const auto& part : placed) {
    BENTO_ASSIGN(const std::size_t position, index_.add(part));
    uncommitted_.push_back({part.dataset, position});
    large.positions.push_back(position);
    note_range(uncommitted_.back(), write.range);
    if (write.gaps) gaps_[{part.dataset, position}] = write.gaps;
    if (board_ == nullptr) continue;
    large.numbers.push_back(board_->placed(part));
    if (write.gaps) board_->gaps(large.numbers.back(), *write.gaps);
  }
  const std::pair key{write.record.dataset, hash_of(write.record.box, 0)};
  if (write.gaps || write.record.encoding != Encoding::kPlain)
    large_.erase(key);
  else
    large_[key] = std::move(large);
  return {};
}

// Much of the buffer may be room of records that grow. A record that moves leaves a gap as large as
// itself, so once more than half of the buffer is in use, all of it gets used only if none does.
Status StreamWriter::make_room(std::uint64_t bytes) {
  const std::uint64_t needed = buffer_.squeezed_bytes() + bytes;
  if (needed > buffer_bytes_ || !buffer_.squeeze()) return flush();
  if (needed > buffer_bytes_ / 2) buffer_.keep_places();
  return {};
}

// A rank that has not come to the latest call of all yet sees what was there before it.
const StreamWriter::Large* StreamWriter::same_as(const Record& record, std::uint64_t bytes) const {
  if (bytes < kLargeRecordBytes || record.encoding != Encoding::kPlain || !attached() ||
      !blocks_.can_rewrite())
    return nullptr;
  const auto found = large_.find({record.dataset, hash_of(record.box, 0)});
  if (found == large_.end()) return nullptr;
  const Large& large = found->second;
  const Order order = index_.order(record.dataset, large.positions.front());
  const bool same = large.box == record.box && large.bytes == bytes &&
                    order.collective == record.order.collective;
  return same ? &large : nullptr;
}

std::vector<Location> StreamWriter::places_to_rewrite(const Record& record,
                                                      std::uint64_t bytes) const {
  std::vector<Location> places;
  if (const Large* const large = same_as(record, bytes))
    for (const std::size_t position : large->positions)
      places.push_back(index_.where(record.dataset, position));
  return places;
}

// A part that failed half-way stays as late as it was: elsewhere in it another write may count, and
// this one has not come there. Its hash is that of what is there.
Status StreamWriter::rewrite(const Record& record, ByteSource& data, const ValueRange& range) {
  grew_ = false;
  rewrote_ = true;
  buffer_.end_growth();
  const auto found = large_.find({record.dataset, hash_of(record.box, 0)});
  if (found == large_.end())
    return fail(Code::kInternal, "a record is to be written anew that was not written");
  const Large& large = found->second;
  for (std::size_t i = 0; i < large.positions.size(); ++i) {
    const Slot slot{record.dataset, large.positions[i]};
    Record part = index_.record(slot.dataset, slot.position);
    auto written = blocks_.rewrite_large(part, data);
    if (written) part.order = record.order;
    index_.replace(slot.dataset, slot.position, part);
    if (board_ != nullptr) board_->rewritten(large.numbers[i], part.order, part.hash);
    note_range(slot, written ? range : ValueRange::everything());
    BENTO_TRY(std::move(written));
  }
  return {};
}

Status StreamWriter::buffer(const Write& write, std::span<const std::byte> data) {
  Slot slot{};
  const auto add = [&] {
    return buffer_.add(write.record, writer(), write.element_bytes, data, write.gaps.get(),
                       write.joins, slot);
  };
  BENTO_ASSIGN(auto added, add());
  if (added == RecordBuffer::Added::kFull) {
    BENTO_TRY(flush());
    BENTO_ASSIGN(added, add());
    if (added == RecordBuffer::Added::kFull)
      return fail(Code::kInternal, "records that grew do not leave the buffer");
  }
  grew_ = added == RecordBuffer::Added::kGrew;
  note_range(slot, grew_ ? range_of(slot).joined(write.range) : write.range);
  if (write.gaps)
    gaps_[{slot.dataset, slot.position}] = write.gaps;
  else if (added == RecordBuffer::Added::kReplaced)
    gaps_.erase({slot.dataset, slot.position});
  if (added != RecordBuffer::Added::kNew) return {};
  uncommitted_.push_back(slot);
  if (!attached() && buffer_.bytes() > 2 * buffer_.compacted_bytes() + buffer_bytes_ &&
      buffer_.may_compact())
    return compact();
  return {};
}

// Before the layout is fixed nothing can be written out, so what later writes have covered is
// dropped from the buffer: it then holds each declared byte at most once.
Status StreamWriter::compact() {
  BENTO_TRY(buffer_.compact());
  uncommitted_.clear();
  large_.clear();
  told_ = 0;
  ranges_.clear();  // nothing is known of what is left of a record
  for (const auto& entry : buffer_.entries()) uncommitted_.push_back(entry.slot);
  return {};
}

void StreamWriter::forget(DatasetNumber dataset) {
  buffer_.forget(dataset);
  blocks_.forget_whole(dataset);
  const auto theirs = [&](const Slot& slot) { return slot.dataset == dataset; };
  for (const Slot& slot : uncommitted_) {
    if (!theirs(slot)) continue;
    const Location where = index_.record(slot.dataset, slot.position).where;
    if (!buffered(where)) blocks_.add_orphan(where.offset);
  }
  forget_slots(theirs);
  const auto of_theirs = [&](const auto& each) { return each.first.first == dataset; };
  std::erase_if(times_, of_theirs);
  std::erase_if(gaps_, of_theirs);
  std::erase_if(large_, of_theirs);
}

ValueRange StreamWriter::range_of(const Slot& slot) const {
  const auto found = ranges_.find({slot.dataset, slot.position});
  return found == ranges_.end() ? ValueRange::everything() : found->second;
}

void StreamWriter::note_range(const Slot& slot, const ValueRange& range) {
  if (range != ValueRange::everything())
    ranges_[{slot.dataset, slot.position}] = range;
  else if (!ranges_.empty())
    ranges_.erase({slot.dataset, slot.position});
}

std::uint64_t StreamWriter::new_bytes() const {
  const std::uint64_t written = bytes_written() - bytes_committed_;
  std::uint64_t replaced = 0;
  for (const Slot& slot : uncommitted_)
    if (blocks_.reuse().knows(slot.dataset))
      replaced += blocks_.reuse().replaced_bytes(index_.record(slot.dataset, slot.position));
  return written - std::min(written, replaced);
}

void StreamWriter::forget_unseen(const LivenessPlan& plan, std::uint64_t step,
                                 std::uint64_t oldest) {
  const auto live = plan.live.find(writer());
  if (live != plan.live.end())
    blocks_.reuse().only_these_live(plan.all, plan.marked, live->second, step, oldest);
}

void StreamWriter::mark_committed(std::uint64_t step, std::uint64_t oldest,
                                  std::span<const DatasetNumber> deleted) {
  std::vector<std::pair<Order, const Slot*>> slots;
  slots.reserve(uncommitted_.size());
  for (const Slot& slot : uncommitted_)
    slots.emplace_back(index_.order(slot.dataset, slot.position), &slot);
  if (!std::ranges::is_sorted(slots, {}, &std::pair<Order, const Slot*>::first))
    std::ranges::stable_sort(slots, {}, &std::pair<Order, const Slot*>::first);
  for (const auto& [order, slot] : slots)
    blocks_.reuse().record_committed(index_.record(slot->dataset, slot->position), step);
  blocks_.reuse().deletions_committed(deleted, step, oldest);
  blocks_.set_committed(step);
  uncommitted_.clear();
  told_ = 0;
  buffer_.drop_left();
  ranges_.clear();
  times_.clear();
  gaps_.clear();
  large_.clear();
  rewrote_ = false;
  bytes_committed_ = bytes_written();
}

std::uint64_t StreamWriter::bytes_in_front(const StreamOptions& options, const StreamRules& rules) {
  const std::uint64_t bytes = rules.head_bytes() + fti::v11::header_bytes(rules.large_containers());
  return rules.for_fti ? bytes : round_up(bytes, options.align);
}

Status StreamWriter::flush(bool beyond_limit) {
  blocks_.allow_beyond_limit(beyond_limit);
  auto flushed = flush_buffer();
  blocks_.allow_beyond_limit(false);
  return flushed;
}

Status StreamWriter::flush_buffer() {
  buffer_.end_growth();
  (void)buffer_.squeeze();  // else they share fewer blocks
  std::size_t done = 0;
  Status status = flush_left();
  if (status) status = flush_joined();
  while (done < buffer_.entries().size() && status)
    status = is_small(buffer_.entries()[done]) ? flush_small(done) : flush_large(done);
  auto dropped = buffer_.drop_first(done);
  return status ? dropped : status;
}

Status StreamWriter::write_copy(const Record& record, std::uint64_t element_bytes,
                                std::span<const std::byte> data, const ValueRange& range) {
  if (buffer_.bytes() + data.size() > buffer_bytes_) BENTO_TRY(flush(true));
  blocks_.allow_beyond_limit(true);
  Status done = write(record, element_bytes, data, range, JoinsWith::kNone);
  blocks_.allow_beyond_limit(false);
  return done;
}

Record StreamWriter::placed_at(Record record, const BlockWriter::Placed& place) const {
  record.where = {writer(), place.position};
  record.header_distance = place.header_distance;
  record.hash = place.hash;
  return record;
}

// Nothing of it counts any more, but for ranks that have not come to the call that deleted it.
Status StreamWriter::flush_left() {
  for (const RecordBuffer::Left& left : buffer_.left()) {
    const auto data = buffer_.data_of(left.entry);
    std::vector<Record> placed{left.record};
    const BlockWriter::SmallRecord small{left.record.dataset, data.size()};
    if (blocks_.is_small(small)) {
      BENTO_ASSIGN(const auto place, blocks_.write_small({&small, 1}, data));
      placed[0] = placed_at(left.record, place[0]);
    } else {
      SpanSource source(data);
      BENTO_ASSIGN(placed,
                   blocks_.write_large(left.record, left.entry.element_bytes, source, data.size()));
    }
    board_->moved(left.entry.number, placed);
    for (const Record& part : placed) blocks_.add_orphan(part.where.offset);
  }
  buffer_.drop_left();
  return {};
}

// A record that was written before the layout was fixed and is too large to share a block.
Status StreamWriter::flush_large(std::size_t& done) {
  const RecordBuffer::Entry& entry = buffer_.entries()[done];
  const auto data = buffer_.data_of(entry);
  SpanSource source(data);
  BENTO_ASSIGN(std::vector<Record> placed,
               blocks_.write_large(index_.record(entry.slot.dataset, entry.slot.position),
                                   entry.element_bytes, source, data.size()));
  ++done;
  if (board_ != nullptr) board_->moved(entry.number, placed);
  return settle(entry.slot, entry.times, std::move(placed));
}

Status StreamWriter::settle(const Slot& slot, const WriteTimes& all_times,
                            std::vector<Record> placed) {
  std::vector<WriteTimes> times(placed.size());
  std::uint64_t cut = 0;
  for (std::size_t i = 0; i < placed.size() && !all_times.empty(); ++i) {
    times[i] = all_times.slice(cut, cut + placed[i].box.elements());
    placed[i].order.time_ns = times[i].first_time();
    cut += placed[i].box.elements();
  }
  index_.replace(slot.dataset, slot.position, placed.front());
  note_times(slot, std::move(times.front()));
  for (std::size_t i = 1; i < placed.size(); ++i) {
    BENTO_ASSIGN(const std::size_t position, index_.add(placed[i]));
    uncommitted_.push_back({slot.dataset, position});
    note_range(uncommitted_.back(), range_of(slot));
    note_times(uncommitted_.back(), std::move(times[i]));
    if (const auto gaps = gaps_.find({slot.dataset, slot.position}); gaps != gaps_.end())
      gaps_[{slot.dataset, position}] = gaps->second;
  }
  return {};
}

// Small records whose data lies in one piece in the buffer share blocks.
Status StreamWriter::flush_small(std::size_t& done) {
  const auto& entries = buffer_.entries();
  std::vector<BlockWriter::SmallRecord> records;
  for (std::size_t i = done; i < entries.size() && is_small(entries[i]); ++i) {
    if (i != done && entries[i].offset != entries[i - 1].offset + entries[i - 1].bytes) break;
    records.push_back({entries[i].slot.dataset, entries[i].bytes});
  }
  for (std::span<const BlockWriter::SmallRecord> left = records; !left.empty();) {
    BENTO_ASSIGN(const auto placed, blocks_.write_small(left, buffer_.data_from(entries[done])));
    left = left.subspan(placed.size());
    for (const auto& place : placed) {
      const RecordBuffer::Entry& entry = entries[done++];
      const Record record =
          placed_at(index_.record(entry.slot.dataset, entry.slot.position), place);
      if (board_ != nullptr) board_->moved(entry.number, {&record, 1});
      index_.replace(entry.slot.dataset, entry.slot.position, record);
      note_times(entry.slot, entry.times);
    }
  }
  return {};
}

}  // namespace bento
