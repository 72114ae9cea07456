// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/stream/fti_shares.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace bento {

namespace {

/// What one stream holds of one dataset.
struct Share {
  std::vector<const Record*> records;
  bool whole = true;  ///< nothing of them is hidden
};

Box bounds_of(std::span<const Record* const> records) {
  Box bounds = records.front()->box;
  for (const Record* const record : records)
    for (unsigned d = 0; d < bounds.rank(); ++d) {
      const std::uint64_t end =
          std::max(bounds.start[d] + bounds.count[d], record->box.start[d] + record->box.count[d]);
      bounds.start[d] = std::min(bounds.start[d], record->box.start[d]);
      bounds.count[d] = end - bounds.start[d];
    }
  return bounds;
}

/// Are the records, one behind the other, the elements of one box in row-major order?
bool in_order(Share& share) {
  if (!share.whole) return false;
  std::sort(share.records.begin(), share.records.end(),
            [](const Record* a, const Record* b) { return a->where.offset < b->where.offset; });
  const Box bounds = bounds_of(share.records);
  std::uint64_t elements = 0;
  for (const Record* const record : share.records) {
    if (record->encoding != Encoding::kPlain || !is_contiguous_in(bounds, record->box) ||
        row_major_offset(bounds, record->box) != elements)
      return false;
    elements += record->box.elements();
  }
  return elements == bounds.elements();
}

}  // namespace

ShareFinder::ShareFinder(std::uint32_t writers) {
  for (std::uint32_t writer = 0; writer < writers; ++writer) found_.writers.insert(writer);
}

void ShareFinder::add(DatasetNumber dataset, const RecordLookup& seen) {
  found_.datasets.insert(dataset);
  std::vector<std::uint64_t> visible(seen.records.size());
  for (const Piece& piece : seen.pieces) visible[piece.record] += piece.part.elements();
  std::map<std::uint32_t, Share> shares;
  for (std::size_t i = 0; i < seen.records.size(); ++i) {
    if (visible[i] == 0) continue;
    const Record& record = seen.records[i];
    Share& share = shares[record.where.task];
    share.records.push_back(&record);
    share.whole = share.whole && visible[i] == record.box.elements();
  }
  constexpr auto kLargestId = static_cast<DatasetNumber>(std::numeric_limits<std::int32_t>::max());
  std::erase_if(found_.writers, [&](std::uint32_t writer) {
    const auto share = shares.find(writer);
    return dataset > kLargestId || share == shares.end() || !in_order(share->second);
  });
}

FtiShares ShareFinder::take() && {
  if (found_.datasets.empty()) found_.writers.clear();
  return std::move(found_);
}

}  // namespace bento
