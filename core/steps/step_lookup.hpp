// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which records of a dataset show a selection, found from its newest step downwards until nothing
/// is left uncovered. Source: docs/format.md, "Step index".
#pragma once

#include <optional>
#include <vector>

#include "core/base/error.hpp"
#include "core/records/resolve.hpp"
#include "core/records/value_range.hpp"
#include "core/steps/blob.hpp"
#include "core/steps/run_view.hpp"
#include "core/steps/step.hpp"
#include "core/steps/step_segment.hpp"
#include "core/steps/step_tables.hpp"

namespace bento {

struct FoundRecord {
  Record record;  ///< its hash is zero: it lies in the dbvar, header_distance before the data
  AbsoluteStep step;
};

/// As Lookup; `pieces` name records by their place in `records`.
struct StepLookup {
  std::vector<FoundRecord> records;
  std::vector<Piece> pieces;
  std::vector<Box> uncovered;
};

struct FindOptions {
  /// Leaves out pieces whose record surely holds no such value (minmax=on). They are then in
  /// neither list; they still hide what is older.
  std::optional<ValueRange> values;
  QueryBudget budget;
  /// Through which pages of records are read; null: as all of the index.
  SegmentSource* through = nullptr;
};

/// Of the steps of `dataset` up to `as_of`, the latest write winning; `selection` has as many
/// dimensions. Errors: kCorrupt (also a segment that is not of this dataset, or of other elements
/// or dimensions), kUnsupported (more work than the budget allows), the source's.
Result<StepLookup> find_in_steps(SegmentSource& source, const DatasetEntry& dataset,
                                 AbsoluteStep as_of, const Box& selection, FindOptions options);

/// Into `found` the record that shows all of `selection`, if the dataset has one step up to
/// `as_of`, and in that a record that is found at once, as nearly all small datasets have when they
/// are read back; false: find_in_steps() knows. Errors: as there.
Result<bool> find_only_record(SegmentSource& source, const DatasetEntry& dataset,
                              AbsoluteStep as_of, const Box& selection, Record& found);

/// Errors: kCorrupt unless the segment is what the index says of this step of the dataset.
Status check_segment(const StepSegment& segment, const DatasetDeclaration& dataset,
                     AbsoluteStep step);

}  // namespace bento
