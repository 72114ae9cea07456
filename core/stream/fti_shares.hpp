// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What the index says about streams from which FTI shall restart: which variables there are, and
/// in which streams the live records of each are the rank's share of it, piece by piece in
/// row-major order. Source: docs/format.md, "Streams for FTI".
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>

#include "core/records/record.hpp"
#include "core/records/resolve.hpp"

namespace bento {

struct FtiShares {
  std::set<DatasetNumber> datasets;  ///< that exist; FTI's variables
  /// Streams that hold a share of each of them, as FTI would have written it.
  std::set<std::uint32_t> writers;
};

/// Finds the streams, dataset by dataset.
class ShareFinder {
 public:
  explicit ShareFinder(std::uint32_t writers);
  /// `seen` is all that can be seen of the dataset.
  void add(DatasetNumber dataset, const RecordLookup& seen);
  [[nodiscard]] FtiShares take() &&;

 private:
  FtiShares found_;
};

}  // namespace bento
