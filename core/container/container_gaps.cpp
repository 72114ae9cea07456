// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Selections of many small boxes, written as the box around them while no other rank writes there;
/// and what must not lie between small records that are stored as one.
#include "core/container/container.hpp"

namespace bento {

// Before the layout is fixed everything gathers in memory, and what is written over goes.
Result<bool> Container::takes_gaps(DatasetNumber dataset, const Box& box) {
  if (!state_.writable || !layout_fixed_ || comm_->size() == 1 || inherited() ||
      shared_datasets_.contains(dataset))
    return false;
  BENTO_ASSIGN(const bool others_too, others_wrote(dataset));
  if (!others_too) return true;
  std::vector<Candidate> found;
  BENTO_TRY(boards_->others().index().candidates(dataset, box, found));
  return found.empty();
}

Status Container::write_with_gaps(DatasetNumber dataset, const Box& box,
                                  std::uint64_t element_bytes, std::span<const std::byte> data,
                                  const RegularSelection& written, const ValueRange& range) {
  Record record;
  record.dataset = dataset;
  record.box = box;
  BENTO_TRY(may_write(record, element_bytes));
  Status done = order_behind_others();
  if (done) done = attach();
  if (done) {
    record.order = {order_count(dataset), state_.clock.now_ns(), my_rank()};
    done = stream_.write_with_gaps(record, element_bytes, data,
                                   std::make_shared<const RecordGaps>(written), range);
  }
  if (!done) failures_.defer(done);
  return done;
}

// Other ranks write there, or are about to be told: only what was written may count. Everything of
// this rank is in its stream.
Status Container::fill_gaps(const std::set<DatasetNumber>& datasets) {
  shared_datasets_.insert(datasets.begin(), datasets.end());
  return stream_.write_without_gaps(
      datasets, [this](const Record& record) { return reader_.read_stored(record); });
}

// Asked while records go out, which must not hide any: so not by find().
Result<std::uint64_t> Container::count_written(DatasetNumber dataset, const Box& box) {
  const std::uint64_t all = box.elements();
  if (state_.root.index.bytes != 0) {
    BENTO_ASSIGN(CommittedIndex* const older, committed());
    BENTO_ASSIGN(const RecordLookup found, older->find(dataset, box));
    if (!found.pieces.empty()) return all;
  }
  BENTO_ASSIGN(const Lookup found, state_.index.find(dataset, box));
  std::uint64_t unwritten = 0;
  for (const Box& hole : found.uncovered) unwritten += hole.elements();
  return all - unwritten;
}

}  // namespace bento
