// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What one step holds of one dataset: changes of extent and records of all ranks, runs as runs,
/// single records packed by where they lie. Written once, never changed; read page by page.
/// Source: docs/format.md, "Step index".
#pragma once

#include <optional>
#include <vector>

#include "core/base/error.hpp"
#include "core/steps/blob.hpp"
#include "core/steps/contribution.hpp"
#include "core/steps/range_table.hpp"
#include "core/steps/segment_page.hpp"
#include "core/steps/step.hpp"

namespace bento {

inline constexpr std::uint8_t kStepSegmentVersion = 1;

struct SegmentContent {
  explicit SegmentContent(RecordRun::Memory memory = std::pmr::get_default_resource())
      : runs(memory) {}
  DatasetNumber dataset = 0;
  AbsoluteStep step;
  RowShape shape;
  bool exact_times = false;
  RecordDigest digest;
  std::vector<ExtentEvent> extents;
  std::pmr::vector<RecordRun> runs;
  std::vector<ValueRange> ranges;  ///< one per record, or none at all
};

/// A segment as the directory knows it.
struct SegmentEntry {
  BlobRef ref;
  std::uint64_t records = 0;
  Box bounds;                 ///< of all records; meaningless if there are none
  std::uint64_t regular = 0;  ///< records that are kept as runs
  std::uint64_t volume = 0;   ///< elements, if no two records overlap and it was cheap to tell
};

/// Do records of different ranks overlap at the same collective count? Then only their times tell
/// which is later, and the contribution must be collected again with exact times. Stops after some
/// work and then says yes; a no is certain. What is needed on the way lies in `memory`.
Result<bool> needs_exact_times(const ContributionPart& part,
                               RecordRun::Memory memory = std::pmr::get_default_resource());
/// Do records of different ranks overlap, whatever their collective counts? As above, a no is
/// certain.
Result<bool> ranks_may_overlap(const ContributionPart& part,
                               RecordRun::Memory memory = std::pmr::get_default_resource());

/// What is needed on the way lies in `memory`. Errors: kCorrupt (runs that leave the space), the
/// sink's.
Result<SegmentEntry> write_segment(SegmentSink& sink, const SegmentContent& content,
                                   RecordRun::Memory memory = std::pmr::get_default_resource());

/// The same for a dataset that was written like another one (RunMemo), whose records were one run
/// and are all regular. `run`: encoded; `like`: what write_segment() gave for the other. Of
/// `content` runs, ranges and changes of extent are left out. Errors: the sink's.
Result<SegmentEntry> write_segment_like(SegmentSink& sink, const SegmentContent& content,
                                        std::span<const std::byte> run, const SegmentEntry& like);

class StepSegment {
 public:
  /// Errors: kCorrupt, kUnsupported (version), the source's.
  static Result<StepSegment> open(SegmentSource& source, const BlobRef& ref);

  [[nodiscard]] DatasetNumber dataset() const { return dataset_; }
  [[nodiscard]] AbsoluteStep step() const { return step_; }
  [[nodiscard]] const RowShape& shape() const { return shape_; }
  [[nodiscard]] std::uint64_t records() const { return records_; }
  [[nodiscard]] bool exact_times() const { return exact_times_; }
  [[nodiscard]] bool has_ranges() const { return ranges_.bytes != 0; }
  /// Of the table that each may_hold() reads.
  [[nodiscard]] std::uint64_t range_bytes() const { return ranges_.bytes; }
  [[nodiscard]] const RecordDigest& digest() const { return digest_; }
  [[nodiscard]] const std::vector<ExtentEvent>& extents() const { return extents_; }

  using Visit = std::function<Status(std::uint64_t position, const Record& record)>;
  /// All records that overlap `selection` (as written, not clipped); null: all. The order among
  /// them says nothing. The hash is left zero.
  Status find(SegmentSource& source, const Box* selection, QueryBudget& budget,
              const Visit& visit) const;
  /// Into `found` the only record that overlaps `selection`, if it holds all of it and the segment
  /// changes no extent and has few records; false: find() knows. Errors: kCorrupt.
  Result<bool> find_only(const Box& selection, Record& found) const;
  /// Calls use(ref) for every blob below the segment's own.
  Status visit_refs(SegmentSource& source, const std::function<Status(const BlobRef&)>& use) const;
  /// False only if the record surely holds no value in `wanted`.
  Result<bool> may_hold(SegmentSource& source, std::uint64_t position,
                        const ValueRange& wanted) const;

 private:
  DatasetNumber dataset_ = 0;
  AbsoluteStep step_;
  RowShape shape_;
  bool exact_times_ = false;
  RecordDigest digest_;
  std::uint64_t records_ = 0;
  std::vector<ExtentEvent> extents_;
  BlobRef ranges_;
  BlobRef page_;             ///< absent: the page is inside the segment, or there is none
  Blob blob_;                ///< keeps the inner page alive
  std::size_t page_at_ = 0;  ///< where it begins in blob_; 0: none
};

}  // namespace bento
