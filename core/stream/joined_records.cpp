// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Programs that write rows of several datasets in turns, or points in any order, leave a record
/// for each of them. What still waits in memory is joined when it goes out. So are pieces with
/// small gaps between them, with what a reader would get there.
#include <algorithm>
#include <map>

#include "core/base/guarded.hpp"
#include "core/geometry/gap_costs.hpp"
#include "core/geometry/joined_boxes.hpp"
#include "core/stream/stream_writer.hpp"

namespace bento {

namespace {
/// What is joined is copied. Before the layout is fixed it may be much.
constexpr std::uint64_t kMostCopied = 64u << 20;
}  // namespace

RecordBuffer::JoinedRecords RecordBuffer::join(std::uint64_t most_bytes,
                                               const CountWritten& written) const {
  JoinedRecords out;
  if (entries_.size() < kFewest || buffer_.size() > kMostCopied) return out;
  std::map<DatasetNumber, std::vector<std::size_t>> many;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const DatasetNumber dataset = entries_[i].slot.dataset;
    // None is counted of one that there was no memory to count.
    const std::uint64_t* const held = held_.find(dataset);
    if (held != nullptr && *held >= kFewest) many[dataset].push_back(i);
  }
  for (const auto& [dataset, entries] : many) join_dataset(entries, most_bytes, written, out);
  return out;
}

// Between the first and the last record of a dataset that is here no other may lie: that one would
// be later than some of a joined record and earlier than the rest. A large record is worth its own
// place. What an extent has cut would be seen again in a record that is later than the cut.
void RecordBuffer::join_dataset(const std::vector<std::size_t>& entries, std::uint64_t most_bytes,
                                const CountWritten& written, JoinedRecords& out) const {
  const auto& [dataset, first] = entries_[entries.front()].slot;
  const DatasetDeclaration& declared = *index_.find(dataset);
  const std::uint64_t element_bytes = entries_[entries.front()].element_bytes;
  if (declared.rank == 0 || (declared.flags & kVariableElements) != 0 || element_bytes == 0 ||
      index_.size(dataset) - first != entries.size())
    return;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries_[entries[i]];
    if (!entry.joins || entry.bytes >= kLargeRecordBytes || entry.element_bytes != element_bytes ||
        entry.slot.position != first + i || !index_.sees_all_of(dataset, first + i))
      return;
  }
  const std::uint64_t most = most_bytes / element_bytes;
  for (Joined& joined :
       alone() ? join_in_any_order(entries, most, written) : join_in_turn(entries, most)) {
    if (joined.parts.size() < 2) continue;
    Record& record = joined.record;
    record.stored_bytes = record.box.elements() * element_bytes;
    joined.element_bytes = element_bytes;
    joined.offset = out.data.size();
    out.data.resize(out.data.size() + static_cast<std::size_t>(record.stored_bytes));
    std::uint64_t in_parts = 0;
    for (const std::size_t at : joined.parts) in_parts += entries_[at].bytes;
    if (in_parts < record.stored_bytes) {
      const UnwrittenElements& unwritten = *unwritten_.find(dataset);
      joined.around = unwritten.range;
      fill_box(record.box, record.box, out.data.data() + joined.offset, unwritten.value);
    }
    for (const std::size_t at : joined.parts) {
      const Box part = box_of(entries_[at].slot);
      copy_box(part, part, data_of(entries_[at]).data(), record.box,
               out.data.data() + joined.offset, element_bytes);
    }
    out.records.push_back(std::move(joined));
  }
}

Box RecordBuffer::box_of(const RecordSlot& slot) const {
  const unsigned rank = index_.find(slot.dataset)->rank;
  const std::size_t corners = std::size_t{2} * rank;
  const auto all = index_.visible_corners(slot.dataset).subspan(slot.position * corners, corners);
  return {Dims(all.first(rank)), Dims(all.last(rank))};
}

// They do not overlap, so it does not matter which of them was later.
std::vector<RecordBuffer::Joined> RecordBuffer::join_in_any_order(
    const std::vector<std::size_t>& entries, std::uint64_t most_elements,
    const CountWritten& written) const {
  const auto& [dataset, first] = entries_[entries.front()].slot;
  const unsigned rank = index_.find(dataset)->rank;
  const auto corners = index_.visible_corners(dataset).subspan(first * 2 * rank);
  auto found = join_boxes(corners, rank, most_elements);
  if (!found) return {};
  join_over_gaps(dataset, most_elements, written, *found);
  if (found->boxes.size() == entries.size()) return {};
  std::vector<Joined> all(found->boxes.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Joined& joined = all[found->box_of[i]];
    if (joined.parts.empty()) joined.record = index_.record(dataset, first + i);
    joined.record.order = std::max(joined.record.order, index_.order(dataset, first + i));
    joined.parts.push_back(entries[i]);
  }
  for (std::size_t i = 0; i < all.size(); ++i) all[i].record.box = std::move(found->boxes[i]);
  return all;
}

void RecordBuffer::join_over_gaps(DatasetNumber dataset, std::uint64_t most_elements,
                                  const CountWritten& written, JoinedBoxes& boxes) const {
  const UnwrittenElements* const unwritten = unwritten_.find(dataset);
  if (unwritten == nullptr || unwritten->value.empty()) return;
  const std::uint64_t element_bytes = unwritten->value.size();
  const std::uint64_t around = std::min(kMostAround, kMostCopied / buffer_.size());
  bento::join_over_gaps(boxes, {unwritten->most, kCostOfBox / element_bytes, around, most_elements},
                        [&](const Box& box, std::uint64_t elements) {
                          const auto counted = written(dataset, box);
                          return counted && *counted == elements;
                        });
}

// Each is later than the one before, as in a record that grows: other ranks may have written the
// same elements in between. One that was replaced may be later than those behind it, which another
// record would then come between.
std::vector<RecordBuffer::Joined> RecordBuffer::join_in_turn(
    const std::vector<std::size_t>& entries, std::uint64_t most_elements) const {
  std::vector<Joined> all;
  std::uint64_t last_ns = 0;
  for (const std::size_t at : entries) {
    const Entry& entry = entries_[at];
    const Record part = index_.record(entry.slot.dataset, entry.slot.position);
    const std::uint64_t elements = part.box.elements();
    WriteTimes times = entry.times;
    if (times.empty()) times.add(elements, part.order.time_ns);
    if (part.order.time_ns <= last_ns) return {};
    const bool continues = !all.empty() &&
                           all.back().record.order.collective == part.order.collective &&
                           all.back().record.box.elements() + elements <= most_elements &&
                           append_row_major(all.back().record.box, part.box);
    last_ns = times.last_time();
    if (!continues) {
      Joined& begun = all.emplace_back();
      begun.record = part;
      begun.times = std::move(times);
    } else {
      all.back().times.append(times);
    }
    all.back().parts.push_back(at);
  }
  return all;
}

// A record that was written anew in its place may be later than what has waited here since before.
// Where there is no memory to join them they go out one by one.
Status StreamWriter::flush_joined() {
  if (rewrote_ || !gaps_.empty()) return {};
  RecordBuffer::JoinedRecords joined;
  (void)guarded([&]() -> Status {
    joined = buffer_.join(kLongestGrownBytes, count_written_);
    return {};
  });
  if (joined.records.empty()) return {};
  std::vector<bool> gone(buffer_.entries().size());
  Status status = guarded([&] { return write_joined(joined, gone); });
  forget_slots([&](const Slot& slot) { return index_.is_hidden(slot.dataset, slot.position); });
  auto dropped = buffer_.drop(gone);
  return status ? dropped : status;
}

Status StreamWriter::write_joined(const RecordBuffer::JoinedRecords& joined,
                                  std::vector<bool>& gone) {
  const auto& all = joined.records;
  const auto small = [&](std::size_t i) {
    return BlockWriter::SmallRecord{all[i].record.dataset, all[i].record.stored_bytes};
  };
  const auto data_from = [&](std::size_t i) {
    return std::span(joined.data).subspan(static_cast<std::size_t>(all[i].offset));
  };
  for (std::size_t done = 0; done < all.size();) {
    std::vector<BlockWriter::SmallRecord> records;
    while (done + records.size() < all.size() && blocks_.is_small(small(done + records.size())))
      records.push_back(small(done + records.size()));
    for (std::span<const BlockWriter::SmallRecord> left = records; !left.empty();) {
      BENTO_ASSIGN(const auto placed, blocks_.write_small(left, data_from(done)));
      left = left.subspan(placed.size());
      for (const auto& place : placed) {
        BENTO_TRY(settle_joined(all[done], {placed_at(all[done].record, place)}, gone));
        ++done;
      }
    }
    if (done == all.size()) break;
    const RecordBuffer::Joined& large = all[done];
    SpanSource source(data_from(done));
    BENTO_ASSIGN(auto placed, blocks_.write_large(large.record, large.element_bytes, source,
                                                  large.record.stored_bytes));
    BENTO_TRY(settle_joined(large, std::move(placed), gone));
    ++done;
  }
  return {};
}

// The first part's place in the index becomes that of the whole. The others go when all that could
// fail for want of memory is done.
Status StreamWriter::settle_joined(const RecordBuffer::Joined& joined, std::vector<Record> placed,
                                   std::vector<bool>& gone) {
  const auto& entries = buffer_.entries();
  const RecordBuffer::Entry& first = entries[joined.parts.front()];
  const auto others = std::span(joined.parts).subspan(1);
  ValueRange range = range_of(first.slot);
  for (const std::size_t at : others) range = range.joined(range_of(entries[at].slot));
  if (joined.around) range = range.joined(*joined.around);
  note_range(first.slot, range);
  if (board_ != nullptr) {
    board_->joined(first.number, joined.record.box, joined.times);
    for (const std::size_t at : others) board_->gone(entries[at].number);
    board_->moved(first.number, placed);
  }
  BENTO_TRY(settle(first.slot, joined.times, std::move(placed)));
  gone[joined.parts.front()] = true;
  for (const std::size_t at : others) {
    gone[at] = true;
    const Slot& slot = entries[at].slot;
    note_range(slot, ValueRange::everything());
    index_.hide(slot.dataset, slot.position);
  }
  return {};
}

}  // namespace bento
