// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/step_commit.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/scratch_memory.hpp"
#include "core/steps/forget_steps.hpp"
#include "core/steps/run_head.hpp"
#include "core/steps/step_segment.hpp"
#include "core/steps/step_tables.hpp"

namespace bento {

namespace {

/// What one commit does to one dataset.
struct Change {
  const DatasetDeclaration* declared = nullptr;  ///< null: before
  std::vector<ExtentEvent> extents;
  const ContributionPart* part = nullptr;
  bool deleted = false;
};

/// By ascending numbers, each once.
using Changes = std::vector<std::pair<DatasetNumber, Change>>;

Changes changes_of(const StepCommit& commit, std::span<const ContributionPart> parts) {
  // Parts come by their numbers, and so do new datasets; all others are few.
  std::vector<DatasetNumber> numbers;
  numbers.reserve(commit.declared.size() + parts.size());
  for (const auto& part : parts) numbers.push_back(part.dataset);
  for (const auto& declaration : commit.declared) numbers.push_back(declaration.number);
  std::inplace_merge(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(parts.size()),
                     numbers.end());
  for (const auto& event : commit.extents) numbers.push_back(event.dataset);
  numbers.insert(numbers.end(), commit.deleted.begin(), commit.deleted.end());
  if (!std::ranges::is_sorted(numbers)) std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());

  Changes changes;
  changes.reserve(numbers.size());
  for (const auto number : numbers) changes.emplace_back(number, Change{});
  const auto of = [&](DatasetNumber number) -> Change& {
    return std::ranges::lower_bound(changes, number, {}, &Changes::value_type::first)->second;
  };
  for (const auto& declaration : commit.declared) of(declaration.number).declared = &declaration;
  for (const auto& part : parts) of(part.dataset).part = &part;
  for (const auto& event : commit.extents) of(event.dataset).extents.push_back(event);
  for (const auto number : commit.deleted) of(number).deleted = true;
  return changes;
}

/// Writes the segments of one dataset after the other. Many programs write many datasets alike:
/// then a run need not be decoded to be stored.
class SegmentWriter {
 public:
  explicit SegmentWriter(SegmentSink& sink) : sink_(sink) {}

  /// `part` may be null; fills in what it says in `content`. Errors: kCorrupt, the sink's.
  Result<SegmentEntry> write(SegmentContent& content, const ContributionPart* part,
                             RecordRun::Memory memory) {
    constexpr std::size_t kShortBytes = 512;  // so that the segment holds its page
    const bool one_run = part != nullptr && part->records > 1 && part->pieces.size() == 1 &&
                         !part->has_ranges && content.extents.empty() &&
                         part->pieces.front().size() <= kShortBytes;
    if (one_run) {
      BENTO_ASSIGN(const bool alike, memo_.same_as_last(part->pieces.front(), part->shape));
      if (alike && last_ && last_->records == part->records)
        return write_segment_like(sink_, content, part->pieces.front(), *last_);
      last_.reset();
    }
    if (part != nullptr) {
      BENTO_ASSIGN(content.runs, decode_runs(*part, memory));
      content.ranges = decode_ranges(*part);
    }
    BENTO_ASSIGN(SegmentEntry written, write_segment(sink_, content, memory));
    if (one_run && written.regular == written.records) last_ = written;
    return written;
  }

 private:
  SegmentSink& sink_;
  RunMemo memo_;
  std::optional<SegmentEntry> last_;  ///< of the run that memo_ knows, if it was stored as one
};

Status apply(SegmentSource& source, SegmentSink& sink, SegmentWriter& segments,
             const StepCommit& commit, AbsoluteStep oldest, const Change& change,
             DatasetEntry& entry, StepCommitted& totals, RecordRun::Memory memory) {
  if (change.deleted) {
    entry.deleted = commit.step;
    if (oldest < commit.step) return {};
    // No kept step has it: what the index holds of its records is nobody's.
    entry.dropped += entry.steps.summary.steps;
    entry.steps = {};
    return {};
  }
  if (change.part == nullptr && change.extents.empty()) return {};
  SegmentContent content(memory);
  content.dataset = entry.declaration.number;
  content.step = commit.step;
  content.shape = {entry.declaration.rank, entry.declaration.element_bytes};
  content.extents = change.extents;
  if (change.part != nullptr) {
    if (!(change.part->shape == content.shape))
      return fail(Code::kInvalidArgument,
                  fmt::format("records of {} dimensions and {} bytes an element in dataset {}, "
                              "which has {} and {}",
                              change.part->shape.rank, change.part->shape.element_bytes,
                              content.dataset, content.shape.rank, content.shape.element_bytes));
    content.exact_times = change.part->exact_times;
    content.digest = change.part->digest;
  }
  BENTO_ASSIGN(const SegmentEntry written, segments.write(content, change.part, memory));
  totals.records += written.records;
  totals.regular_records += written.regular;

  const StepSummary& older = entry.steps.summary;
  const bool first = entry.steps.levels == 0;
  const bool anything_older = !first && older.any_records;
  const bool overlapping = written.volume == 0;  // among themselves
  const bool over_older = anything_older && overlaps(written.bounds, older.bounds);
  if (!change.extents.empty() || (written.records != 0 && (overlapping || over_older)))
    totals.hidden.push_back(entry.declaration.number);
  StepEntry step;
  step.segment = written.ref;
  step.records = written.records;
  step.bounds = written.bounds;
  for (const auto& event : change.extents) {
    if (event.extent.rank() != entry.declaration.rank)
      return fail(Code::kInvalidArgument,
                  fmt::format("an extent of {} dimensions for dataset {}, which has {}",
                              event.extent.rank(), content.dataset, entry.declaration.rank));
    if (anything_older && !contains(Box::whole(event.extent), older.bounds))
      narrow_clip(step.clip, event.extent);
  }
  step.covers = written.volume != 0 && written.volume == written.bounds.elements() &&
                (!anything_older || contains(written.bounds, older.bounds));
  const SegmentArray array(SegmentTraits{entry.declaration.rank});
  BENTO_ASSIGN(entry.steps,
               array.put(source, sink, entry.steps, commit.step.number(), std::move(step)));
  if (commit.keep != 0 && !first) BENTO_TRY(forget_steps(source, sink, oldest, entry));
  return {};
}

// The previous root with the steps that are kept from this commit on.
Result<StepIndexRoot> root_of(SegmentSource& source, const BlobRef& previous,
                              const StepCommit& commit) {
  StepIndexRoot root;
  if (previous.bytes != 0) {
    BENTO_ASSIGN(const Blob blob, source.read(previous));
    BENTO_ASSIGN(root, decode_step_index_root(*blob));
  }
  if (commit.step <= root.newest)
    return fail(Code::kInvalidArgument,
                fmt::format("step {} after step {}", commit.step.number(), root.newest.number()));
  if (root.oldest == AbsoluteStep()) root.oldest = commit.step;
  if (commit.keep != 0 && commit.step.number() >= commit.keep)
    root.oldest = std::max(root.oldest, AbsoluteStep(commit.step.number() - commit.keep + 1));
  root.newest = commit.step;
  return root;
}

}  // namespace

Result<std::vector<DatasetNumber>> datasets_that_need_exact_times(
    std::span<const std::byte> contribution) {
  std::vector<DatasetNumber> found;
  if (contribution.empty()) return found;
  std::pmr::monotonic_buffer_resource memory;
  BENTO_ASSIGN(const auto parts, parse_contribution(contribution, &memory));
  ScratchMemory scratch;
  RunMemo memo;
  bool last_needed = false;  // of the last one with one run
  for (const auto& part : parts) {
    if (part.exact_times || part.records <= 1) continue;
    const bool one_run = part.pieces.size() == 1;
    bool known = false;
    if (one_run) {  // what lies apart, or one above the other, does so at any time
      BENTO_ASSIGN(known, memo.same_as_last(part.pieces.front(), part.shape));
    }
    bool needed = last_needed;
    if (!known) {
      BENTO_ASSIGN(needed, needs_exact_times(part, scratch.turn()));
    }
    if (one_run) last_needed = needed;
    if (needed) found.push_back(part.dataset);
  }
  return found;
}

Result<std::vector<DatasetNumber>> datasets_that_ranks_share(
    std::span<const std::byte> contribution, const std::set<DatasetNumber>& datasets) {
  std::vector<DatasetNumber> found;
  if (contribution.empty() || datasets.empty()) return found;
  BENTO_ASSIGN(const auto parts, parse_contribution(contribution));
  for (const auto& part : parts) {
    if (!datasets.contains(part.dataset)) continue;
    BENTO_ASSIGN(const bool shared, ranks_may_overlap(part));
    if (shared) found.push_back(part.dataset);
  }
  return found;
}

Result<StepCommitted> commit_step(SegmentSource& source, SegmentSink& sink, const BlobRef& previous,
                                  const StepCommit& commit) {
  BENTO_ASSIGN(StepIndexRoot root, root_of(source, previous, commit));

  std::pmr::monotonic_buffer_resource memory;
  std::pmr::vector<ContributionPart> parts(&memory);
  if (!commit.contribution.empty()) {
    BENTO_ASSIGN(parts, parse_contribution(commit.contribution, &memory));
  }
  ScratchMemory scratch;
  const Changes changes = changes_of(commit, parts);

  StepCommitted result;
  SegmentWriter segments(sink);
  const DatasetArray datasets;
  std::vector<DatasetArray::Change> entries;
  entries.reserve(changes.size());
  ByteWriter step_blob;
  step_blob.varint(commit.payload.size());
  step_blob.bytes(commit.payload);
  for (const auto& [number, change] : changes) {
    DatasetEntry entry;
    if (change.declared != nullptr) {
      entry.declaration = *change.declared;
      entry.declared = commit.step;
    } else {
      BENTO_ASSIGN(auto stored, datasets.get(source, root.datasets, number));
      if (!stored || stored->deleted != AbsoluteStep()) {
        if (change.part == nullptr || change.deleted || stored) continue;
        return fail(Code::kInvalidArgument,
                    fmt::format("records of dataset {}, which is not declared", number));
      }
      entry = std::move(*stored);
    }
    BENTO_TRY(
        apply(source, sink, segments, commit, root.oldest, change, entry, result, scratch.turn()));
    if (!change.deleted && (change.part != nullptr || !change.extents.empty()))
      step_blob.varint(number);
    entries.emplace_back(number, std::move(entry));
  }
  BENTO_ASSIGN(root.datasets, datasets.put(source, sink, root.datasets, entries));
  BENTO_ASSIGN(const BlobRef step_ref, sink.append(step_blob.view()));
  const StepArray steps;
  const StepArray::Change added{commit.step.number(), step_ref};
  BENTO_ASSIGN(root.steps, steps.put(source, sink, root.steps, std::span(&added, 1)));
  BENTO_ASSIGN(root.steps, steps.drop_before(source, sink, root.steps, root.oldest.number()));
  result.oldest = root.oldest;
  BENTO_ASSIGN(result.root, sink.append(encode(root)));
  return result;
}

}  // namespace bento
