// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Adds one step to the step index. Done by the owner (rank 0) alone, after the ranks'
/// contributions have been merged. Writes what changed and the pages above it.
#pragma once

#include <set>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/records/record.hpp"
#include "core/steps/blob.hpp"
#include "core/steps/contribution.hpp"
#include "core/steps/step.hpp"

namespace bento {

struct StepCommit {
  AbsoluteStep step;  ///< larger than all before
  std::vector<DatasetDeclaration> declared;
  std::vector<DatasetNumber> deleted;
  std::vector<ExtentEvent> extents;
  std::span<const std::byte> contribution;  ///< merged; empty: no records
  std::uint64_t keep = 0;                   ///< steps that stay readable, this one included; 0: all
  std::span<const std::byte> payload;       ///< for the container: comes back with the step
};

struct StepCommitted {
  BlobRef root;         ///< of the index with this step; the previous root stays readable
  AbsoluteStep oldest;  ///< that can still be read
  std::uint64_t records = 0;
  std::uint64_t regular_records = 0;
  /// Of which this step may hide records, of older steps or of its own. Of the others it surely
  /// hides none.
  std::vector<DatasetNumber> hidden;
};

/// Datasets for which the merged contribution must be collected once more with
/// ContributionBuilder::Options::exact_times: records of different ranks overlap there at the same
/// collective count, or it would cost too much to prove that they do not. Empty nearly always.
/// Errors: kCorrupt.
Result<std::vector<DatasetNumber>> datasets_that_need_exact_times(
    std::span<const std::byte> contribution);

/// Those of `datasets` in which records of different ranks overlap, or it would cost too much to
/// prove that they do not. Errors: kCorrupt.
Result<std::vector<DatasetNumber>> datasets_that_ranks_share(
    std::span<const std::byte> contribution, const std::set<DatasetNumber>& datasets);

/// `previous`: root of the index so far, absent for the first step. Errors: kCorrupt,
/// kInvalidArgument (a step that is not new, records of a dataset that nobody declared), the
/// source's and the sink's. On an error nothing that `previous` refers to has changed.
Result<StepCommitted> commit_step(SegmentSource& source, SegmentSink& sink, const BlobRef& previous,
                                  const StepCommit& commit);

}  // namespace bento
