// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Reads the step index as of one kept step. Opening loads one blob; every question loads the pages
/// it needs, through whatever cache the source has. Not thread-safe if the source is not. Source:
/// docs/format.md, "Step index".
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/steps/blob.hpp"
#include "core/steps/step.hpp"
#include "core/steps/step_lookup.hpp"
#include "core/steps/step_segment.hpp"
#include "core/steps/step_tables.hpp"

namespace bento {

struct StepInfo {
  std::vector<std::byte> payload;       ///< as given to commit_step()
  std::vector<DatasetNumber> datasets;  ///< written or made smaller in it, ascending
};

class StepIndex {
 public:
  /// `as_of` absent: the newest step. `source` must outlive the index. Errors: kNotFound (a step
  /// that is not kept; says which are), kCorrupt, the source's.
  static Result<StepIndex> open(SegmentSource& source, const BlobRef& root,
                                std::optional<AbsoluteStep> as_of = std::nullopt);

  [[nodiscard]] AbsoluteStep newest() const { return root_.newest; }
  [[nodiscard]] AbsoluteStep oldest() const { return root_.oldest; }
  [[nodiscard]] AbsoluteStep as_of() const { return as_of_; }

  /// Datasets that exist as of this step, ascending.
  Result<std::vector<DatasetDeclaration>> datasets() const;
  Result<std::optional<DatasetDeclaration>> dataset(DatasetNumber number) const;
  /// Its dimensions, nothing if it does not exist as of this step.
  Result<std::optional<unsigned>> rank_of(DatasetNumber number) const;
  /// Errors: kNotFound (not kept, or beyond as_of()).
  Result<StepInfo> step(AbsoluteStep step) const;
  /// Calls visit(step, info) for each kept step from as_of() down to the oldest. A file may claim
  /// 2^60 of them: this reads no more than is stored. Errors: kCorrupt (also if one is missing),
  /// the visitor's, the source's.
  using StepVisitor = std::function<Status(AbsoluteStep, const StepInfo&)>;
  Status visit_steps(const StepVisitor& visit) const;

  /// In how many steps, up to this one, was the dataset written? Steps that were dropped count.
  Result<std::uint64_t> steps_of(DatasetNumber number) const;
  /// Its steps that can be shown as they were, ascending up to as_of(): the first is the one that
  /// is seen in the oldest kept step of the file. `first` is that one's relative number.
  struct StepList {
    RelativeStep first;
    std::vector<AbsoluteStep> steps;
  };
  Result<StepList> list_steps(DatasetNumber number) const;
  /// Errors: kNotFound (dropped, or not written so often).
  Result<AbsoluteStep> absolute(DatasetNumber number, RelativeStep step) const;
  /// All steps up to as_of() of which the index has a segment, ascending: of those before
  /// list_steps() parts may still be seen.
  Result<std::vector<AbsoluteStep>> stored_steps(DatasetNumber number) const;
  /// The segment of exactly this step; nothing if the dataset was not written in it.
  Result<std::optional<StepSegment>> segment(DatasetNumber number, AbsoluteStep step) const;

  /// Everything that the index as a whole refers to, whatever as_of() says: the root itself, pages,
  /// segments, and the payloads of all kept steps. For whoever manages the space.
  struct BlobVisitor {
    std::function<Status(const BlobRef&)> blob;
    std::function<Status(std::span<const std::byte> payload)> payload;
  };
  static Status visit_blobs(SegmentSource& source, const BlobRef& root, const BlobVisitor& visitor);
  /// Records in all kept steps up to as_of(), hidden ones included, and whether steps of the
  /// dataset were dropped.
  struct Extent {
    std::uint64_t records = 0;
    bool dropped = false;
  };
  Result<Extent> extent_of(DatasetNumber number) const;

  /// Which records show `selection` as of this step, the latest write winning, and what nobody
  /// wrote. Errors: kNotFound (no such dataset), kInvalidArgument (the selection), kCorrupt,
  /// kUnsupported (more work than the budget allows), the source's.
  Result<StepLookup> find(DatasetNumber number, const Box& selection, FindOptions options) const;
  Result<StepLookup> find(DatasetNumber number, const Box& selection) const {
    return find(number, selection, FindOptions{});
  }
  /// Into `found` the record that shows all of `selection`, if that is seen at once; false: find()
  /// knows. Pages of records are read through `through`. Errors: kCorrupt, the source's.
  Result<bool> find_only(DatasetNumber number, const Box& selection, SegmentSource& through,
                         Record& found) const;

 private:
  explicit StepIndex(SegmentSource& source) : source_(&source) {}
  /// Null if it does not exist as of this step. Valid until another dataset is asked for.
  Result<const DatasetEntry*> look(DatasetNumber number) const;
  /// The same, but a dataset that does not exist is kNotFound.
  Result<const DatasetEntry*> entry(DatasetNumber number) const;
  Result<std::uint64_t> steps_of(const DatasetEntry& entry) const;
  Result<std::vector<AbsoluteStep>> steps_since(const DatasetEntry& entry, AbsoluteStep from) const;

  SegmentSource* source_;
  StepIndexRoot root_;
  AbsoluteStep as_of_;
  mutable DatasetArray::Way way_;  ///< to the dataset that was asked for last
};

}  // namespace bento
