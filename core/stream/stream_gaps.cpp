// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Records of a stream that are boxes around what was written.
#include <algorithm>

#include "core/stream/stream_writer.hpp"

namespace bento {

Status StreamWriter::write_with_gaps(const Record& record, std::uint64_t element_bytes,
                                     std::span<const std::byte> data, const SharedGaps& gaps,
                                     const ValueRange& range) {
  SpanSource source(data);
  return add({record, element_bytes, range, gaps, JoinsWith::kLast}, source, data.size());
}

const RecordGaps* StreamWriter::gaps_of(const Slot& slot) const {
  const auto found = gaps_.find({slot.dataset, slot.position});
  return found == gaps_.end() ? nullptr : found->second.get();
}

std::set<DatasetNumber> StreamWriter::datasets_with_gaps() const {
  std::set<DatasetNumber> found;
  for (const auto& [slot, gaps] : gaps_) found.insert(slot.first);
  return found;
}

// The boxes are as late as the write, so what this rank wrote since is seen over them. Until all
// are there the record stays, so that a failure loses nothing.
Status StreamWriter::write_boxes_of(const Slot& slot, const RecordGaps& gaps,
                                    const ReadRecord& read) {
  const Record whole = index_.record(slot.dataset, slot.position);
  const std::uint64_t element_bytes = index_.find(slot.dataset)->element_bytes;
  const ValueRange range = range_of(slot);
  BENTO_ASSIGN(const std::vector<std::byte> bytes, read(whole));
  std::vector<std::byte> some;
  Status done;
  gaps.for_each_written(whole.box, [&](const Box& box) {
    if (!done) return;
    some.resize(static_cast<std::size_t>(box.elements() * element_bytes));
    copy_box(box, whole.box, bytes.data(), box, some.data(), element_bytes);
    Record part;
    part.dataset = slot.dataset;
    part.box = box;
    part.order = whole.order;
    done = write_copy(part, element_bytes, some, range);
  });
  return done;
}

// Nobody will see the record any more. Its place in the index stays, since others count from there.
void StreamWriter::drop(const Slot& slot) {
  blocks_.add_orphan(index_.where(slot.dataset, slot.position).offset);
  index_.hide(slot.dataset, slot.position);
  gaps_.erase({slot.dataset, slot.position});
  forget_slots([&](const Slot& each) {
    return each.dataset == slot.dataset && each.position == slot.position;
  });
}

// In the order of their times: of two boxes that are equal the later one is kept.
Status StreamWriter::write_without_gaps(const std::set<DatasetNumber>& datasets,
                                        const ReadRecord& read) {
  std::vector<Slot> gapped;
  for (const auto& [slot, gaps] : gaps_)
    if (datasets.contains(slot.first)) gapped.push_back({slot.first, slot.second});
  if (gapped.empty()) return {};
  std::ranges::sort(gapped, {},
                    [&](const Slot& slot) { return index_.order(slot.dataset, slot.position); });
  for (const Slot& slot : gapped) {
    const SharedGaps gaps = gaps_.at({slot.dataset, slot.position});
    BENTO_TRY(write_boxes_of(slot, *gaps, read));
    drop(slot);
  }
  BENTO_TRY(flush(true));
  buffer_.end_growth();  // a copy is older than what the program writes next
  return {};
}

}  // namespace bento
