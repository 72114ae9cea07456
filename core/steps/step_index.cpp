// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/step_index.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace bento {

namespace {

Status check_number(const DatasetEntry& entry, std::uint64_t number) {
  if (entry.declaration.number == number) return {};
  return fail(Code::kCorrupt, fmt::format("step index: dataset {} where {} was expected",
                                          entry.declaration.number, number));
}

bool exists(const DatasetEntry& entry, AbsoluteStep as_of) {
  return entry.declared <= as_of && (entry.deleted == AbsoluteStep() || entry.deleted > as_of);
}

Result<StepInfo> read_step(SegmentSource& source, const BlobRef& ref, AbsoluteStep step) {
  BENTO_ASSIGN(const Blob blob, source.read(ref));
  ByteReader in(*blob, std::endian::little, "step");
  StepInfo info;
  BENTO_ASSIGN(const std::uint64_t length, in.varint());
  BENTO_ASSIGN(const auto payload, in.bytes(length));
  info.payload.assign(payload.begin(), payload.end());
  while (in.remaining() != 0) {
    BENTO_ASSIGN(const std::uint64_t number, in.varint());
    if (number >> 32 != 0)
      return fail(Code::kCorrupt, fmt::format("step {}: dataset {}", step.number(), number));
    info.datasets.push_back(static_cast<DatasetNumber>(number));
  }
  return info;
}

}  // namespace

Result<StepIndex> StepIndex::open(SegmentSource& source, const BlobRef& root,
                                  std::optional<AbsoluteStep> as_of) {
  StepIndex index(source);
  BENTO_ASSIGN(const Blob blob, source.read(root));
  BENTO_ASSIGN(index.root_, decode_step_index_root(*blob));
  index.as_of_ = as_of.value_or(index.root_.newest);
  if (index.as_of_ < index.root_.oldest || index.as_of_ > index.root_.newest)
    return fail(Code::kNotFound,
                fmt::format("step {} is not kept; steps {} to {} are", index.as_of_.number(),
                            index.root_.oldest.number(), index.root_.newest.number()));
  return index;
}

Result<std::vector<DatasetDeclaration>> StepIndex::datasets() const {
  std::vector<DatasetDeclaration> found;
  OnceSource once(*source_);
  BENTO_TRY(DatasetArray().visit_down(
      once, root_.datasets, ~0ull, [](const Nothing&) { return true; },
      [&](std::uint64_t number, const DatasetEntry& entry) -> Result<bool> {
        BENTO_TRY(check_number(entry, number));
        if (exists(entry, as_of_)) found.push_back(entry.declaration);
        return true;
      }));
  std::reverse(found.begin(), found.end());
  return found;
}

Result<const DatasetEntry*> StepIndex::look(DatasetNumber number) const {
  BENTO_ASSIGN(const DatasetEntry* const found,
               DatasetArray().look(*source_, root_.datasets, number, way_));
  if (found == nullptr || !exists(*found, as_of_)) return nullptr;
  BENTO_TRY(check_number(*found, number));
  return found;
}

Result<std::optional<DatasetDeclaration>> StepIndex::dataset(DatasetNumber number) const {
  BENTO_ASSIGN(const DatasetEntry* const found, look(number));
  return found != nullptr ? std::optional(found->declaration) : std::nullopt;
}

Result<std::optional<unsigned>> StepIndex::rank_of(DatasetNumber number) const {
  BENTO_ASSIGN(const DatasetEntry* const found, look(number));
  return found != nullptr ? std::optional<unsigned>(found->declaration.rank) : std::nullopt;
}

Result<const DatasetEntry*> StepIndex::entry(DatasetNumber number) const {
  BENTO_ASSIGN(const DatasetEntry* const found, look(number));
  if (found != nullptr) return found;
  return fail(Code::kNotFound,
              fmt::format("step index: no dataset {} as of step {}", number, as_of_.number()));
}

Result<StepInfo> StepIndex::step(AbsoluteStep step) const {
  std::optional<BlobRef> ref;
  if (step <= as_of_) {
    BENTO_ASSIGN(ref, StepArray().get(*source_, root_.steps, step.number()));
  }
  if (!ref)
    return fail(Code::kNotFound, fmt::format("step {} is not kept, or later than step {}",
                                             step.number(), as_of_.number()));
  return read_step(*source_, *ref, step);
}

Status StepIndex::visit_steps(const StepVisitor& visit) const {
  std::uint64_t next = as_of_.number();
  OnceSource once(*source_);
  BENTO_TRY(StepArray().visit_down(
      once, root_.steps, as_of_.number(), [](const Nothing&) { return true; },
      [&](std::uint64_t number, const BlobRef& ref) -> Result<bool> {
        if (number != next) return false;
        --next;
        BENTO_ASSIGN(const StepInfo info, read_step(once, ref, AbsoluteStep(number)));
        BENTO_TRY(visit(AbsoluteStep(number), info));
        return number > root_.oldest.number();
      }));
  if (next + 1 == root_.oldest.number()) return {};
  return fail(Code::kCorrupt,
              fmt::format("step index: step {} is missing, those from {} on are kept", next,
                          root_.oldest.number()));
}

// Ascending from the newest that is not later than `from`, or from the first.
Result<std::vector<AbsoluteStep>> StepIndex::steps_since(const DatasetEntry& entry,
                                                         AbsoluteStep from) const {
  std::vector<AbsoluteStep> steps;
  OnceSource once(*source_);
  BENTO_TRY(SegmentArray(SegmentTraits{entry.declaration.rank})
                .visit_down(
                    once, entry.steps, as_of_.number(), [](const StepSummary&) { return true; },
                    [&](std::uint64_t step, const StepEntry&) -> Result<bool> {
                      steps.emplace_back(step);
                      return AbsoluteStep(step) > from;
                    }));
  std::reverse(steps.begin(), steps.end());
  return steps;
}

Result<StepIndex::StepList> StepIndex::list_steps(DatasetNumber number) const {
  BENTO_ASSIGN(const DatasetEntry* const found, entry(number));
  StepList list;
  BENTO_ASSIGN(list.steps, steps_since(*found, root_.oldest));
  BENTO_ASSIGN(const std::uint64_t all, steps_of(*found));
  if (all < list.steps.size())
    return fail(Code::kCorrupt, fmt::format("step index: {} steps of dataset {}, counted as {}",
                                            list.steps.size(), number, all));
  list.first = RelativeStep(all - list.steps.size());
  return list;
}

Result<std::vector<AbsoluteStep>> StepIndex::stored_steps(DatasetNumber number) const {
  BENTO_ASSIGN(const DatasetEntry* const found, entry(number));
  return steps_since(*found, AbsoluteStep());
}

Result<std::uint64_t> StepIndex::steps_of(DatasetNumber number) const {
  BENTO_ASSIGN(const DatasetEntry* const found, entry(number));
  return steps_of(*found);
}

Result<std::uint64_t> StepIndex::steps_of(const DatasetEntry& entry) const {
  BENTO_ASSIGN(const std::uint64_t kept, SegmentArray(SegmentTraits{entry.declaration.rank})
                                             .count_to(*source_, entry.steps, as_of_.number()));
  return entry.dropped + kept;
}

Result<AbsoluteStep> StepIndex::absolute(DatasetNumber number, RelativeStep step) const {
  BENTO_ASSIGN(const DatasetEntry* const found, entry(number));
  const SegmentArray array(SegmentTraits{found->declaration.rank});
  BENTO_ASSIGN(const std::uint64_t to_oldest,
               array.count_to(*source_, found->steps, root_.oldest.number()));
  std::optional<std::uint64_t> key;
  if (step.number() >= found->dropped && step.number() + 1 >= found->dropped + to_oldest) {
    BENTO_ASSIGN(key, array.nth(*source_, found->steps, step.number() - found->dropped));
  }
  if (!key || AbsoluteStep(*key) > as_of_)
    return fail(Code::kNotFound, fmt::format("dataset {} has no step {} of its own as of step {}",
                                             number, step.number(), as_of_.number()));
  return AbsoluteStep(*key);
}

Result<std::optional<StepSegment>> StepIndex::segment(DatasetNumber number,
                                                      AbsoluteStep step) const {
  BENTO_ASSIGN(const DatasetEntry* const found, entry(number));
  if (step > as_of_) return std::optional<StepSegment>();
  BENTO_ASSIGN(const auto at, SegmentArray(SegmentTraits{found->declaration.rank})
                                  .get(*source_, found->steps, step.number()));
  if (!at) return std::optional<StepSegment>();
  BENTO_ASSIGN(StepSegment opened, StepSegment::open(*source_, at->segment));
  BENTO_TRY(check_segment(opened, found->declaration, step));
  return std::optional(std::move(opened));
}

Status StepIndex::visit_blobs(SegmentSource& all, const BlobRef& root, const BlobVisitor& visitor) {
  OnceSource source(all);
  BENTO_TRY(visitor.blob(root));
  BENTO_ASSIGN(const Blob blob, source.read(root));
  BENTO_ASSIGN(const StepIndexRoot decoded, decode_step_index_root(*blob));
  BENTO_TRY(StepArray().visit_all(source, decoded.steps, visitor.blob,
                                  [&](const BlobRef& step) -> Status {
                                    BENTO_TRY(visitor.blob(step));
                                    BENTO_ASSIGN(const Blob stored, source.read(step));
                                    ByteReader in(*stored, std::endian::little, "step");
                                    BENTO_ASSIGN(const std::uint64_t length, in.varint());
                                    BENTO_ASSIGN(const auto payload, in.bytes(length));
                                    return visitor.payload(payload);
                                  }));
  return DatasetArray().visit_all(
      source, decoded.datasets, visitor.blob, [&](const DatasetEntry& entry) {
        return SegmentArray(SegmentTraits{entry.declaration.rank})
            .visit_all(source, entry.steps, visitor.blob, [&](const StepEntry& step) -> Status {
              BENTO_TRY(visitor.blob(step.segment));
              BENTO_ASSIGN(const StepSegment segment, StepSegment::open(source, step.segment));
              return segment.visit_refs(source, visitor.blob);
            });
      });
}

Result<StepIndex::Extent> StepIndex::extent_of(DatasetNumber number) const {
  BENTO_ASSIGN(const DatasetEntry* const found, entry(number));
  Extent extent;
  extent.dropped = found->dropped != 0;
  OnceSource once(*source_);
  BENTO_TRY(SegmentArray(SegmentTraits{found->declaration.rank})
                .visit_down(
                    once, found->steps, as_of_.number(), [](const StepSummary&) { return true; },
                    [&](std::uint64_t, const StepEntry& step) -> Result<bool> {
                      extent.records += step.records;
                      return true;
                    }));
  return extent;
}

namespace {

/// Has it `rank` dimensions, none of them beyond 2^62?
bool can_be_asked_for(const Box& selection, unsigned rank) {
  bool sound = selection.rank() == rank && selection.start.rank() == rank;
  for (unsigned d = 0; sound && d < rank; ++d)
    sound = selection.start[d] >> 62 == 0 && selection.count[d] >> 62 == 0;
  return sound;
}

}  // namespace

Result<StepLookup> StepIndex::find(DatasetNumber number, const Box& selection,
                                   FindOptions options) const {
  BENTO_ASSIGN(const DatasetEntry* const found, entry(number));
  const unsigned rank = found->declaration.rank;
  if (!can_be_asked_for(selection, rank))
    return fail(Code::kInvalidArgument,
                fmt::format("a selection of {} dimensions, or one beyond 2^62, in dataset {}, "
                            "which has {}",
                            selection.rank(), number, rank));
  SegmentSource& source = options.through != nullptr ? *options.through : *source_;
  return find_in_steps(source, *found, as_of_, selection, std::move(options));
}

Result<bool> StepIndex::find_only(DatasetNumber number, const Box& selection,
                                  SegmentSource& through, Record& found) const {
  BENTO_ASSIGN(const DatasetEntry* const dataset, look(number));
  if (dataset == nullptr || !can_be_asked_for(selection, dataset->declaration.rank)) return false;
  return find_only_record(through, *dataset, as_of_, selection, found);
}

}  // namespace bento
