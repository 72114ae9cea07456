// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Where in its file a dataset lies that is one record.
#include "core/container/container.hpp"

namespace bento {

namespace {

/// The only record in which `whole` is seen, and which holds nothing else; null if there is none.
const Record* only_record(const RecordLookup& found, const Box& whole) {
  if (found.pieces.size() != 1 || !found.uncovered.empty()) return nullptr;
  const Record& record = found.records[found.pieces[0].record];
  const bool all = found.pieces[0].part == whole && record.box == whole;
  return all && record.encoding == Encoding::kPlain ? &record : nullptr;
}

}  // namespace

Result<std::optional<std::uint64_t>> Container::address_of(DatasetNumber dataset,
                                                           const Box& whole) {
  const std::optional<std::uint64_t> nowhere;
  if (whole.empty() || state_.options.spread) return nowhere;
  BENTO_ASSIGN(RecordLookup found, find(dataset, whole));
  const Record* record = only_record(found, whole);
  if (record != nullptr && StreamWriter::buffered(record->where) && stream_.holds(dataset)) {
    BENTO_TRY(check_home());
    if (!layout_fixed_ && comm_->size() == 1) BENTO_TRY(fix_layout(0));
    if (!layout_fixed_) return nowhere;
    BENTO_TRY(attach());
    BENTO_TRY(stream_.flush());
    BENTO_ASSIGN(found, find(dataset, whole));
    record = only_record(found, whole);
  }
  if (record == nullptr || StreamWriter::buffered(record->where)) return nowhere;
  const std::uint32_t writer = record->where.task;
  if (writer >= state_.plan.writers() || state_.plan.file_of(writer) != 0) return nowhere;
  const FilePlan& file = state_.plan.file(0);
  return std::optional(file.address(state_.plan.local_task(writer), record->where.offset));
}

}  // namespace bento
