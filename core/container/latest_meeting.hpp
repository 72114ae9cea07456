// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Between which calls of all ranks the time of a write decides which one is later, where ranks see
/// each other's writes.
///
/// Most such calls let a rank go on at once. So one that has made such a call may write, and tell
/// another that has not made it yet; what that one writes then is later. Only two kinds of calls
/// say more than the time does:
/// - A *meeting*, which no rank leaves before all have come to it. Nobody who has yet to come there
///   can have been told of a write behind it.
/// - A call that makes a dataset smaller cuts off what was written there before it, and by this
///   count what was written before is known.
/// Source: docs/format.md, "Step index".
#pragma once

#include <cstdint>
#include <unordered_map>

#include "core/records/record.hpp"

namespace bento {

class LatestMeeting {
 public:
  /// The call with this collective count is a meeting.
  void met(std::uint64_t collective) {
    met_ = collective;
    shrunk_.clear();
  }
  /// Its count.
  [[nodiscard]] std::uint64_t count() const { return met_; }
  /// The call with this count has made the dataset smaller.
  void shrunk(DatasetNumber dataset, std::uint64_t collective) { shrunk_[dataset] = collective; }
  /// The dataset is gone.
  void forget(DatasetNumber dataset) { shrunk_.erase(dataset); }
  /// The count of the latest of these calls that says anything of the dataset.
  [[nodiscard]] std::uint64_t of(DatasetNumber dataset) const {
    if (shrunk_.empty()) return met_;
    const auto found = shrunk_.find(dataset);
    return found == shrunk_.end() ? met_ : found->second;
  }

 private:
  std::uint64_t met_ = 0;
  std::unordered_map<DatasetNumber, std::uint64_t> shrunk_;  ///< since that meeting
};

}  // namespace bento
