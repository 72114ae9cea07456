// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/board/other_records.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace bento {

OtherRecords::OtherRecords(int descriptor, NodeHead& node, std::span<RankHead> heads,
                           std::vector<std::uint32_t> ranks, std::uint32_t mine,
                           RemoteNodes* remote, Metadata metadata)
    : node_(&node), remote_(remote), metadata_(std::move(metadata)) {
  for (std::uint32_t index = 0; index < ranks.size(); ++index) {
    if (index == mine) continue;
    heads_.push_back(&heads[index]);
    add_other(ranks[index], std::make_unique<NeighbourBoard>(descriptor, index, heads[index]));
  }
  counter_ = ~node.counter.load();  // to be looked at
}

OtherRecords::Other& OtherRecords::add_other(std::uint32_t rank,
                                             std::unique_ptr<OtherBoard> board) {
  if (place_of_.size() <= rank) place_of_.resize(rank + 1, kNone);
  place_of_[rank] = others_.size();
  Other& other = others_.emplace_back();
  other.rank = rank;
  other.board = std::move(board);
  return other;
}

std::uint64_t OtherRecords::chunk_bytes() const {
  for (const RankHead* const head : heads_)
    if (const std::uint64_t bytes = head->chunk_bytes.load(); bytes != 0) return bytes;
  return remote_ == nullptr ? 0 : remote_->chunk_bytes();
}

Result<std::optional<std::uint32_t>> OtherRecords::behind(std::uint64_t collective,
                                                          bool written) const {
  for (std::size_t i = 0; i < heads_.size(); ++i) {
    const auto& count = written ? heads_[i]->reached : heads_[i]->collective;
    if (count.load(std::memory_order_acquire) < collective) return std::optional(others_[i].rank);
  }
  if (remote_ == nullptr) return std::optional<std::uint32_t>();
  return remote_->behind(collective, written);
}

// What a rank that is behind wrote in its epoch is known. One that is ahead has a log again.
bool OtherRecords::caught_up() const {
  return remote_ == nullptr && std::ranges::all_of(others_, [this](const Other& other) {
           const LogHead head = other.board->head();
           return head.epoch == epoch_ ? head.bytes == other.read
                                       : LogHead::after(head.epoch) == epoch_;
         });
}

// A writer that finds that somebody has looked lets the counter grow; so this rank says that it
// looks before it does. The largest count stays: others may have looked at a later one.
Status OtherRecords::read_logs(std::uint64_t counter) {
  raise(node_->seen, counter);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (std::size_t i = 0; i < heads_.size(); ++i) BENTO_TRY(read_log(others_[i]));
  counter_ = counter;
  return {};
}

// What was not read, because that failed, is new at the next look, too.
Status OtherRecords::read_remote() {
  BENTO_ASSIGN(const auto changed, remote_->look());
  for (const std::uint32_t rank : changed) {
    const bool known = rank < place_of_.size() && place_of_[rank] != kNone;
    if (known || remote_->found(rank).bytes != 0)
      BENTO_TRY(read_log(known ? others_[place_of_[rank]]
                               : add_other(rank, std::make_unique<RemoteBoard>(*remote_, rank))));
    remote_->note(rank);
  }
  return {};
}

// A head of another epoch: the rank has not come out of the commit or exchange yet that this one
// has left.
Status OtherRecords::read_log(Other& other) {
  const LogHead head = other.board->head();
  if (head.epoch != epoch_ || head.bytes == other.read) return {};
  BENTO_ASSIGN(const auto fresh, other.board->log(other.read, head.bytes));
  ByteReader in(fresh, std::endian::little, "log of a rank");
  LogEntry entry;
  while (in.remaining() != 0) {
    BENTO_TRY(other.reader.read(in, entry));
    BENTO_TRY(apply(other, entry));
  }
  other.read = head.bytes;
  ++learnt_;
  return {};
}

Status OtherRecords::apply(Other& other, LogEntry& entry) {
  switch (entry.kind) {
    case LogEntryKind::kRestart:
      restart(other);
      return {};
    case LogEntryKind::kBuffered:
    case LogEntryKind::kPlaced:
      return add(other, entry);
    case LogEntryKind::kGrew:
      return grow(other, entry);
    case LogEntryKind::kReplaced:
      return replace(other, entry);
    case LogEntryKind::kMoved:
      return move(other, entry);
    case LogEntryKind::kRewritten:
      return rewrite(other, entry);
    case LogEntryKind::kGaps:
      return note_gaps(other, entry);
    case LogEntryKind::kJoined:
      return join(other, entry);
    case LogEntryKind::kGone:
      return drop(other, entry);
  }
  return {};
}

// Of a dataset that this rank has not made yet all that is known is what the record shows.
Result<std::size_t> OtherRecords::put(const Record& record) {
  if (index_.find(record.dataset) == nullptr) {
    index_.declare({record.dataset, {}, 0, record.box.rank(), 0});
    for (const auto& event : metadata_.extents())
      if (event.dataset == record.dataset) BENTO_TRY(index_.clip(event));
  }
  return index_.add(record);
}

Status OtherRecords::add(Other& other, const LogEntry& entry) {
  Known one;
  one.dataset = entry.record.dataset;
  one.place = entry.place;
  one.buffered = entry.kind == LogEntryKind::kBuffered;
  const std::uint64_t number = other.first + other.known.size();
  if (!metadata_.removed(one.dataset)) {
    Record record = entry.record;
    if (one.buffered) record.where = {other.rank, kOtherBuffer | number};
    BENTO_ASSIGN(one.position, put(record));
    if (one.buffered && !entry.times.empty()) times_[{one.dataset, one.position}] = entry.times;
  }
  other.known.push_back(one);
  return {};
}

Result<OtherRecords::Known*> OtherRecords::known(Other& other, std::uint64_t number) {
  if (number < other.first || number - other.first >= other.known.size())
    return fail(Code::kCorrupt,
                fmt::format("log of rank {}: record {} is not known", other.rank, number));
  return &other.known[static_cast<std::size_t>(number - other.first)];
}

Status OtherRecords::grow(Other& other, const LogEntry& entry) {
  BENTO_ASSIGN(const Known* const found, known(other, entry.number));
  const Known& one = *found;
  if (one.position == kNone) return {};
  Record record = index_.record(one.dataset, one.position);
  if (entry.dimension >= record.box.rank() || record.box.count[entry.dimension] == 0)
    return fail(Code::kCorrupt,
                fmt::format("log of rank {}: dimension {}", other.rank, entry.dimension));
  const std::uint64_t before = record.box.elements();
  const std::uint64_t element_bytes = record.stored_bytes / before;
  record.box.count[entry.dimension] += entry.added;
  const std::uint64_t more = record.box.elements() - before;
  record.stored_bytes += more * element_bytes;
  WriteTimes& times = times_[{one.dataset, one.position}];
  if (times.empty()) times.add(before, record.order.time_ns);
  times.add(more, entry.time_ns);
  index_.replace(one.dataset, one.position, record);
  return {};
}

Status OtherRecords::replace(Other& other, const LogEntry& entry) {
  BENTO_ASSIGN(const Known* const one, known(other, entry.number));
  if (one->position == kNone) return {};
  Record record = index_.record(one->dataset, one->position);
  record.order = entry.order;
  times_.erase({one->dataset, one->position});
  gaps_.erase({one->dataset, one->position});
  index_.replace(one->dataset, one->position, record);
  return {};
}

Status OtherRecords::rewrite(Other& other, const LogEntry& entry) {
  BENTO_ASSIGN(const Known* const one, known(other, entry.number));
  ++rewritten_;
  if (one->position == kNone) return {};
  Record record = index_.record(one->dataset, one->position);
  record.order = entry.order;
  record.hash = entry.hash;
  index_.replace(one->dataset, one->position, record);
  return {};
}

Status OtherRecords::note_gaps(Other& other, const LogEntry& entry) {
  BENTO_ASSIGN(const Known* const one, known(other, entry.number));
  if (one->position != kNone) gaps_[{one->dataset, one->position}] = entry.gaps;
  return {};
}

Status OtherRecords::join(Other& other, const LogEntry& entry) {
  BENTO_ASSIGN(const Known* const one, known(other, entry.number));
  if (one->position == kNone) return {};
  Record record = index_.record(one->dataset, one->position);
  if (entry.box.rank() != record.box.rank())
    return fail(Code::kCorrupt,
                fmt::format("log of rank {}: {} dimensions", other.rank, entry.box.rank()));
  record.box = entry.box;
  index_.replace(one->dataset, one->position, record);
  times_[{one->dataset, one->position}] = entry.times;
  return {};
}

Status OtherRecords::drop(Other& other, const LogEntry& entry) {
  BENTO_ASSIGN(Known* const one, known(other, entry.number));
  one->buffered = false;
  if (one->position == kNone) return {};
  hide(*one);
  one->position = kNone;
  return {};
}

// As the stream does it: a record that was cut takes the times of its parts along, and its gaps.
Status OtherRecords::move(Other& other, LogEntry& entry) {
  BENTO_ASSIGN(Known* const one, known(other, entry.number));
  one->buffered = false;
  if (one->position == kNone || entry.placed.empty()) return {};
  const Record before = index_.record(one->dataset, one->position);
  const auto grown = times_.find({one->dataset, one->position});
  const WriteTimes times = grown == times_.end() ? WriteTimes{} : grown->second;
  if (grown != times_.end()) times_.erase(grown);
  const auto gapped = gaps_.find({one->dataset, one->position});
  const SharedGaps gaps = gapped == gaps_.end() ? nullptr : gapped->second;
  std::uint64_t cut = 0;
  for (std::size_t i = 0; i < entry.placed.size(); ++i) {
    Record& part = entry.placed[i];
    part.dataset = before.dataset;
    part.order = before.order;
    part.encoding = before.encoding;
    part.filter_mask = before.filter_mask;
    WriteTimes of_part;
    if (!times.empty()) {
      of_part = times.slice(cut, cut + part.box.elements());
      part.order.time_ns = of_part.first_time();
      cut += part.box.elements();
    }
    std::size_t position = one->position;
    if (i == 0) {
      index_.replace(one->dataset, position, part);
    } else {
      BENTO_ASSIGN(position, put(part));
    }
    if (!of_part.empty()) times_[{one->dataset, position}] = std::move(of_part);
    if (gaps) gaps_[{one->dataset, position}] = gaps;
  }
  return {};
}

// The record stays where it is in the index, but nothing of it is seen.
void OtherRecords::hide(const Known& one) {
  index_.hide(one.dataset, one.position);
  times_.erase({one.dataset, one.position});
  gaps_.erase({one.dataset, one.position});
}

void OtherRecords::restart(Other& other) {
  for (const Known& one : other.known)
    if (one.position != kNone) hide(one);
  other.first += other.known.size();
  other.known.clear();
}

const OtherRecords::Known* OtherRecords::find(const Location& where) const {
  if (where.task >= place_of_.size() || place_of_[where.task] == kNone) return nullptr;
  const Other& other = others_[place_of_[where.task]];
  const std::uint64_t number = where.offset & ~kOtherBuffer;
  if (number < other.first || number - other.first >= other.known.size()) return nullptr;
  return &other.known[static_cast<std::size_t>(number - other.first)];
}

const WriteTimes* OtherRecords::times_of(DatasetNumber dataset, std::size_t position) const {
  const auto found = times_.find({dataset, position});
  return found == times_.end() ? nullptr : &found->second;
}

const RecordGaps* OtherRecords::gaps_of(DatasetNumber dataset, std::size_t position) const {
  const auto found = gaps_.find({dataset, position});
  return found == gaps_.end() ? nullptr : found->second.get();
}

std::optional<Record> OtherRecords::now(const Location& where) const {
  const Known* const one = find(where);
  if (one == nullptr || one->position == kNone) return std::nullopt;
  return index_.record(one->dataset, one->position);
}

std::optional<Record> OtherRecords::placed(const Location& where) const {
  for (const Other& other : others_)
    for (const Known& one : other.known)
      if (one.position != kNone && !one.buffered &&
          index_.where(one.dataset, one.position) == where)
        return index_.record(one.dataset, one.position);
  return std::nullopt;
}

Result<bool> OtherRecords::with_bytes(const Location& where,
                                      const std::function<void(std::span<const std::byte>)>& use) {
  const Known* const one = find(where);
  if (one == nullptr || one->position == kNone || !one->buffered) return false;
  Other& other = others_[place_of_[where.task]];
  const std::uint64_t bytes = index_.record(one->dataset, one->position).stored_bytes;
  return other.board->with_bytes(one->place, bytes, use);
}

Status OtherRecords::clip(const ExtentEvent& event) {
  return index_.find(event.dataset) == nullptr ? Status{} : index_.clip(event);
}

void OtherRecords::remove(DatasetNumber dataset) {
  if (index_.find(dataset) == nullptr) return;
  index_.remove(dataset);
  const auto theirs = [&](const auto& each) { return each.first.first == dataset; };
  std::erase_if(times_, theirs);
  std::erase_if(gaps_, theirs);
  for (Other& other : others_)
    for (Known& one : other.known)
      if (one.dataset == dataset) one.position = kNone;
}

void OtherRecords::next_epoch() {
  epoch_ = LogHead::after(epoch_);
  counter_ = ~node_->counter.load();
  if (remote_ != nullptr) remote_->next_epoch(epoch_);
  index_ = Index();
  times_.clear();
  gaps_.clear();
  for (Other& other : others_) {
    other.reader.begin();
    other.read = 0;
    other.first = 0;
    other.known.clear();
  }
}

}  // namespace bento
