// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/stream/record_buffer.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "core/base/guarded.hpp"

namespace bento {

Result<RecordBuffer::Added> RecordBuffer::add(const Record& record, std::uint32_t writer,
                                              std::uint64_t element_bytes,
                                              std::span<const std::byte> data,
                                              const RecordGaps* gaps, JoinsWith joins,
                                              RecordSlot& slot) {
  if (joins == JoinsWith::kNone) end_growth();
  const bool joins_any = joins == JoinsWith::kAny && gaps == nullptr;
  // Of what went through filters another rank must not read one half of each.
  // What lies between the elements of one with gaps still counts where it was written.
  const bool stays = gaps != nullptr || (board_ != nullptr && record.encoding != Encoding::kPlain);
  const bool replaces = !stays && !is_alone(data.size());
  const std::uint64_t key = replaces ? hash_of(record.box, record.dataset) : 0;
  if (const auto found = replaces ? entry_of(key, data.size()) : std::nullopt) {
    Entry& entry = entries_[*found];
    if (replace(entry, record, data)) {
      entry.times.clear();
      if (board_ != nullptr) board_->replaced(entry.number, record.order);
      entry.joins = joins_any;
      let_grow(*found, true);
      slot = entry.slot;
      return Added::kReplaced;
    }
  }
  if (gaps == nullptr && record.encoding == Encoding::kPlain)
    if (Entry* const longer = grow(record, data)) {
      longer->joins &= joins_any;
      slot = longer->slot;
      return Added::kGrew;
    }
  if (grown_bytes_ >= most_grown_) return Added::kFull;
  Entry entry;
  entry.offset = buffer_.size();
  entry.bytes = data.size();
  entry.element_bytes = record.encoding == Encoding::kPlain ? element_bytes : 0;
  entry.key = replaces ? key : hash_of(record.box, record.dataset);
  entry.joins = joins_any;
  Record added = record;
  added.where = {writer, kBufferedBit | entry.offset};
  added.stored_bytes = data.size();
  BENTO_ASSIGN(const std::size_t position, index_.add(added));
  entry.slot = {record.dataset, position};
  buffer_.append(data);
  if (board_ != nullptr) {
    entry.number = board_->buffered(added, entry.offset, {});
    if (gaps != nullptr) board_->gaps(entry.number, *gaps);
  }
  if (!entries_.empty()) note_box(entries_.size() - 1);
  slot = entry.slot;
  entries_.push_back(std::move(entry));
  held_bytes_ += data.size();
  ++held_[record.dataset];
  let_grow(entries_.size() - 1, gaps == nullptr);
  return Added::kNew;
}

RecordBuffer::Entry* RecordBuffer::may_grow(DatasetNumber dataset) {
  if (!alone())
    return growing_ && entries_.back().slot.dataset == dataset ? &entries_.back() : nullptr;
  const std::size_t* const last = last_.find(dataset);
  return last != nullptr ? &entries_[*last] : nullptr;
}

void RecordBuffer::let_grow(std::size_t entry, bool grows) {
  growing_ = grows && entry + 1 == entries_.size();
  if (!alone()) return;
  const DatasetNumber dataset = entries_[entry].slot.dataset;
  const std::size_t* const last = last_.find(dataset);
  // One that was replaced is later than those behind it.
  const bool latest = last == nullptr ? entry + 1 == entries_.size() : entry >= *last;
  if (grows && latest)
    last_[dataset] = entry;
  else
    last_.erase(dataset);
}

// So are most pieces of a record that grows, which need no key then.
bool RecordBuffer::is_alone(std::size_t bytes) const {
  return by_box_.size() == 0 && !entries_.empty() && entries_.back().grew &&
         entries_.back().bytes != bytes;
}

// A piece is hardly ever as long as the record that it makes longer: that needs no key then.
std::optional<std::size_t> RecordBuffer::entry_of(std::uint64_t key, std::size_t bytes) const {
  if (!entries_.empty()) {
    const Entry& last = entries_.back();
    if ((!last.grew || last.bytes == bytes) && key_of(last) == key) return entries_.size() - 1;
  }
  const std::uint32_t* const earlier = by_box_.find(key);
  return earlier != nullptr ? std::optional<std::size_t>(*earlier) : std::nullopt;
}

void RecordBuffer::note_box(std::size_t entry) {
  by_box_.put(key_of(entries_[entry]), static_cast<std::uint32_t>(entry));
}

std::uint64_t RecordBuffer::key_of(const Entry& entry) const {
  if (!entry.grew) return entry.key;
  return hash_of(index_.record(entry.slot.dataset, entry.slot.position).box, entry.slot.dataset);
}

bool RecordBuffer::replace(const Entry& entry, const Record& record,
                           std::span<const std::byte> data) {
  Record old = index_.record(entry.slot.dataset, entry.slot.position);
  if (old.dataset != record.dataset || old.box != record.box || entry.bytes != data.size() ||
      old.encoding != record.encoding || old.filter_mask != record.filter_mask)
    return false;
  // A rank that has not come to this collective call yet still sees what was there before.
  if (board_ != nullptr && old.order.collective != record.order.collective) return false;
  buffer_.overwrite(entry.offset, data);
  old.order = record.order;
  index_.replace(old.dataset, entry.slot.position, old);
  return true;
}

// The index last: what there is no memory for must not be in it.
RecordBuffer::Entry* RecordBuffer::grow(const Record& record, std::span<const std::byte> data) {
  Entry* const found = may_grow(record.dataset);
  if (found == nullptr || found->bytes > longest_ - data.size()) return nullptr;
  Entry& last = *found;
  if (keeps_places_ && !fits_behind(last, data.size())) return nullptr;
  const auto along = index_.joins(last.slot.position, record);
  if (!along) return nullptr;
  growing_ = false;  // if this throws, it ends here
  put_behind(last, data);
  const std::uint64_t time_ns = record.order.time_ns;
  if (keep_times_) {
    if (last.times.empty()) {
      const Record first = index_.record(last.slot.dataset, last.slot.position);
      last.times.add(first.box.elements(), first.order.time_ns);
      grown_[{last.slot.dataset, last.slot.position}] = entries_.size() - 1;
    }
    last.times.add(record.box.elements(), time_ns);
  }
  if (board_ != nullptr) board_->grew(last.number, *along, record.box.count[*along], time_ns);
  index_.grow(last.slot.position, record, *along, data.size());
  last.bytes += data.size();
  last.room -= std::min<std::uint64_t>(last.room, data.size());
  held_bytes_ += data.size();
  grown_bytes_ += last.grew ? data.size() : last.bytes;
  last.grew = true;
  growing_ = found == &entries_.back();
  return found;
}

bool RecordBuffer::fits_behind(const Entry& entry, std::size_t bytes) const {
  const bool at_end = entry.room == 0 && entry.offset + entry.bytes == buffer_.size();
  return !alone() || at_end || entry.room >= bytes;
}

// A record that cannot become longer where it is gets as much room elsewhere as it has bytes, so
// that each of its bytes is moved few times however many pieces it is made of.
void RecordBuffer::put_behind(Entry& entry, std::span<const std::byte> data) {
  if (!fits_behind(entry, data.size())) {
    constexpr std::uint64_t kMostRoom = 512u << 10;
    const std::uint64_t needed = entry.bytes + data.size();
    const std::uint64_t room = std::min(needed, kMostRoom);
    entry.offset = buffer_.move_to_end(entry.offset, entry.bytes, needed + room);
    entry.room = data.size() + room;
    scattered_ = true;
    const auto& [dataset, position] = entry.slot;
    index_.move(dataset, position,
                {index_.where(dataset, position).task, kBufferedBit | entry.offset});
  }
  if (entry.room == 0)
    buffer_.append(data);
  else
    buffer_.overwrite(entry.offset + entry.bytes, data);
}

bool RecordBuffer::squeeze() {
  if (!scattered_) return false;
  const bool moved = guarded([&]() -> Status {
                       std::vector<std::byte> fresh;
                       fresh.reserve(static_cast<std::size_t>(held_bytes_));
                       for (const Entry& entry : entries_) {
                         const auto bytes = data_of(entry);
                         fresh.insert(fresh.end(), bytes.begin(), bytes.end());
                       }
                       return buffer_.become(std::move(fresh));
                     }).has_value();
  if (!moved) return false;
  std::uint64_t offset = 0;
  for (Entry& entry : entries_) {
    entry.offset = offset;
    entry.room = 0;
    offset += entry.bytes;
    const auto& [dataset, position] = entry.slot;
    index_.move(dataset, position,
                {index_.where(dataset, position).task, kBufferedBit | entry.offset});
  }
  scattered_ = false;
  return true;
}

Status RecordBuffer::compact() {
  std::map<DatasetNumber, std::vector<const Entry*>> groups;
  for (const auto& entry : entries_) groups[entry.slot.dataset].push_back(&entry);
  std::vector<std::byte> fresh;
  std::deque<Entry> kept;
  for (const auto& [dataset, group] : groups)
    BENTO_TRY(compact_dataset(dataset, group, fresh, kept));
  BENTO_TRY(buffer_.become(std::move(fresh)));
  drop_left();
  entries_ = std::move(kept);
  if (board_ != nullptr) {
    board_->restart();
    for (Entry& entry : entries_)
      entry.number = board_->buffered(index_.record(entry.slot.dataset, entry.slot.position),
                                      entry.offset, entry.times);
  }
  compacted_bytes_ = buffer_.size();
  scattered_ = false;
  find_anew();
  return {};
}

Status RecordBuffer::compact_dataset(DatasetNumber dataset, std::span<const Entry* const> group,
                                     std::vector<std::byte>& fresh, std::deque<Entry>& kept) {
  std::unordered_map<std::size_t, const Entry*> by_position;
  Box bound = index_.record(dataset, group.front()->slot.position).box;
  for (const auto* entry : group) {
    by_position[entry->slot.position] = entry;
    bento::grow(bound, index_.record(dataset, entry->slot.position).box);
  }
  BENTO_ASSIGN(const Lookup lookup, index_.find(dataset, bound));
  std::vector<std::pair<Record, Entry>> visible;
  std::vector<std::size_t> whole_done;
  for (const auto& piece : lookup.pieces) {
    const auto found = by_position.find(piece.record);
    if (found == by_position.end()) continue;
    Entry entry = *found->second;
    Record record = index_.record(dataset, piece.record);
    const std::byte* from = buffer_.view().data() + entry.offset;
    entry.offset = fresh.size();
    entry.room = 0;
    if (entry.element_bytes == 0) {  // filtered: cannot be cut, kept whole, once
      if (std::find(whole_done.begin(), whole_done.end(), piece.record) != whole_done.end())
        continue;
      whole_done.push_back(piece.record);
      fresh.insert(fresh.end(), from, from + entry.bytes);
    } else {
      entry.bytes = piece.part.elements() * entry.element_bytes;
      fresh.resize(fresh.size() + entry.bytes);
      copy_box(piece.part, record.box, from, piece.part, fresh.data() + entry.offset,
               entry.element_bytes);
      if (!entry.times.empty()) {
        entry.times = entry.times.within(record.box, piece.part);
        record.order.time_ns = entry.times.first_time();
      }
      record.box = piece.part;
      record.stored_bytes = entry.bytes;
    }
    record.where.offset = kBufferedBit | entry.offset;
    entry.key = hash_of(record.box, dataset);
    visible.emplace_back(record, std::move(entry));
  }
  index_.erase_if(dataset, [](const Record&) { return true; });
  for (auto& [record, entry] : visible) {
    BENTO_ASSIGN(entry.slot.position, index_.add(record));
    kept.push_back(std::move(entry));
  }
  return {};
}

void RecordBuffer::read(const Location& where, std::uint64_t skip,
                        std::span<std::byte> into) const {
  std::memcpy(into.data(), buffer_.view().data() + (where.offset & ~kBufferedBit) + skip,
              into.size());
}

Status RecordBuffer::drop_first(std::size_t count) {
  entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(count));
  find_anew();
  scattered_ = alone() && !entries_.empty();
  return entries_.empty() ? buffer_.clear() : Status{};
}

Status RecordBuffer::drop(const std::vector<bool>& these) {
  std::size_t at = 0;
  std::erase_if(entries_, [&](const Entry&) { return these[at++]; });
  return drop_first(0);
}

const WriteTimes* RecordBuffer::times_of(DatasetNumber dataset, std::size_t position) const {
  const auto found = grown_.find({dataset, position});
  if (found == grown_.end() || entries_[found->second].times.empty()) return nullptr;
  return &entries_[found->second].times;
}

void RecordBuffer::forget(DatasetNumber dataset) {
  end_growth();
  unwritten_.erase(dataset);
  if (!held_.contains(dataset)) return;
  for (const Entry& entry : entries_)
    if (board_ != nullptr && entry.slot.dataset == dataset)
      left_.push_back({index_.record(dataset, entry.slot.position), entry, board_->collective()});
  std::erase_if(entries_, [&](const Entry& entry) { return entry.slot.dataset == dataset; });
  find_anew();
}

const std::vector<RecordBuffer::Left>& RecordBuffer::left() {
  std::erase_if(left_, [&](const Left& one) { return board_->all_came_to(one.collective); });
  return left_;
}

void RecordBuffer::find_anew() {
  end_growth();
  keeps_places_ = false;
  by_box_.clear();
  held_.clear();
  grown_.clear();
  grown_bytes_ = 0;
  held_bytes_ = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (i + 1 < entries_.size()) note_box(i);
    ++held_[entries_[i].slot.dataset];
    held_bytes_ += entries_[i].bytes;
    if (entries_[i].grew) grown_bytes_ += entries_[i].bytes;
    const auto& [dataset, position] = entries_[i].slot;
    if (!entries_[i].times.empty()) grown_[{dataset, position}] = i;
  }
}

}  // namespace bento
