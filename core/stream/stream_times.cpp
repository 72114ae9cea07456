// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What a stream knows of the times at which the parts of its longer records were written.
#include <algorithm>

#include "core/stream/stream_writer.hpp"

namespace bento {

void StreamWriter::note_times(const Slot& slot, WriteTimes times) {
  if (!times.empty()) times_[{slot.dataset, slot.position}] = std::move(times);
}

const WriteTimes* StreamWriter::times_of(const Slot& slot) const {
  const auto found = times_.find({slot.dataset, slot.position});
  return found == times_.end() ? nullptr : &found->second;
}

const WriteTimes* StreamWriter::any_times_of(const Slot& slot) const {
  const WriteTimes* const times = times_of(slot);
  return times != nullptr ? times : buffer_.times_of(slot.dataset, slot.position);
}

// The last part first, so that a failure leaves the times of the others, which are still to be
// written.
Status StreamWriter::write_parts_of(const Slot& slot, const ReadRecord& read) {
  auto parts = times_.at({slot.dataset, slot.position}).parts();
  if (parts.size() < 2) return {};
  const Record whole = index_.record(slot.dataset, slot.position);
  const std::uint64_t element_bytes = index_.find(slot.dataset)->element_bytes;
  const ValueRange range = range_of(slot);
  BENTO_ASSIGN(const std::vector<std::byte> bytes, read(whole));
  Status done;
  while (parts.size() > 1 && done) {
    std::uint64_t begin = parts.back().begin;
    for (const Box& box : boxes_of_run(whole.box, begin, parts.back().end)) {
      const auto data =
          std::span(bytes).subspan(static_cast<std::size_t>(begin * element_bytes),
                                   static_cast<std::size_t>(box.elements() * element_bytes));
      begin += box.elements();
      Record part;
      part.dataset = slot.dataset;
      part.box = box;
      part.order = whole.order;
      part.order.time_ns = parts.back().time_ns;
      done = write_copy(part, element_bytes, data, range);
      if (!done) break;
    }
    if (done) parts.pop_back();
  }
  auto& times = times_.at({slot.dataset, slot.position});
  times.clear();
  for (const auto& part : parts) times.add(part.end - part.begin, part.time_ns);
  if (parts.size() <= 1) times_.erase({slot.dataset, slot.position});
  return done;
}

// In the order of their times: of two parts with the same box the later one is kept.
Result<bool> StreamWriter::write_parts(const std::set<DatasetNumber>& datasets,
                                       const ReadRecord& read) {
  std::vector<Slot> grown;
  for (const auto& [slot, times] : times_)
    if (datasets.contains(slot.first)) grown.push_back({slot.first, slot.second});
  if (grown.empty()) return false;
  std::sort(grown.begin(), grown.end(), [&](const Slot& a, const Slot& b) {
    return index_.order(a.dataset, a.position) < index_.order(b.dataset, b.position);
  });
  Status done;
  for (std::size_t i = 0; i < grown.size() && done; ++i) done = write_parts_of(grown[i], read);
  if (done) done = flush(true);
  buffer_.end_growth();  // a copy is older than what the program writes next
  BENTO_TRY(std::move(done));
  return true;
}

}  // namespace bento
