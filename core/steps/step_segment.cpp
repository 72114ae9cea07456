// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/step_segment.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/records/box_tree.hpp"
#include "core/steps/page_tree.hpp"
#include "core/steps/segment_order.hpp"

namespace bento {

namespace {

/// Of one with few records: it is to take memory once.
constexpr std::size_t kUsualSegmentBytes = 192;
enum SegmentFlags : std::uint8_t { kExactTimes = 1, kHasRanges = 2 };
/// Changes of extent in one step; each takes a hundred times its stored bytes in memory.
constexpr std::uint64_t kMostExtents = 1u << 18;

/// Calls visit(a, b) for pairs of boxes that overlap until it says false.
bool all_pairs(std::span<const std::uint64_t> corners, unsigned rank, std::size_t boxes,
               const std::function<bool(std::size_t, std::size_t)>& visit) {
  if (rank != 0) {
    BoxTree tree;
    tree.build(corners, rank, boxes);
    return tree.for_each_overlap(corners, visit);
  }
  for (std::size_t a = 0; a < boxes; ++a)  // of a scalar all are the same element
    for (std::size_t b = 0; b < a; ++b)
      if (!visit(a, b)) return false;
  return true;
}

/// May records overlap that are not `allowed` to? May say yes for no.
Result<bool> may_overlap(const ContributionPart& part, RunView::Overlap allowed,
                         RecordRun::Memory memory) {
  BENTO_ASSIGN(const auto runs, decode_runs(part, memory));
  const unsigned width = part.shape.width();
  const unsigned rank = part.shape.rank;
  const SortedRuns sorted = sort_out(runs, width, memory);
  QueryBudget budget{(1u << 20) + 4096 * sorted.runs.size() + 64 * sorted.origin.size()};

  std::pmr::vector<RunView> views(memory);
  std::vector<std::uint64_t> corners;
  for (const auto* const run : sorted.runs) {
    BENTO_ASSIGN(RunView view, RunView::make(*run, rank, memory));
    if (!view.apart(allowed, budget)) return true;
    if (sorted.runs.size() == 1 && sorted.origin.empty()) return false;
    append_corners(corners, view.bounds());
    views.push_back(std::move(view));
  }
  if (!all_pairs(corners, rank, views.size(), [&](std::size_t a, std::size_t b) {
        return budget.spend() && views[a].apart(views[b], allowed, budget);
      }))
    return true;

  const std::size_t singles = sorted.origin.size();
  const std::span<const std::uint64_t> rows(sorted.rows);
  const auto writer = [&](std::span<const std::uint64_t> row) {
    return row[part.shape.field(kFieldTask)] + row[part.shape.field(kFieldRankGap)];
  };
  const auto conflict = [&](std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) {
    const unsigned collective = part.shape.field(kFieldCollective);
    return writer(a) != writer(b) &&
           (allowed == RunView::Overlap::kOfOneRank || a[collective] == b[collective]);
  };
  corners.clear();
  for (std::size_t i = 0; i < singles; ++i)
    append_corners(corners, row_box(rows.subspan(i * width), rank));
  if (!all_pairs(corners, rank, singles, [&](std::size_t a, std::size_t b) {
        return budget.spend() &&
               !conflict(rows.subspan(a * width, width), rows.subspan(b * width, width));
      }))
    return true;
  for (std::size_t i = 0; i < singles && !views.empty(); ++i) {
    const auto row = rows.subspan(i * width, width);
    const Box box = row_box(row, rank);
    for (const auto& view : views) {
      if (!budget.spend()) return true;
      if (!overlaps(view.bounds(), box)) continue;
      const auto none = view.find(box, budget, [&](std::uint64_t, auto other) -> Status {
        return conflict(row, other) ? Status(fail(Code::kBusy, "overlap")) : Status{};
      });
      if (!none) return true;
    }
  }
  return false;
}

}  // namespace

Result<bool> needs_exact_times(const ContributionPart& part, RecordRun::Memory memory) {
  if (part.exact_times || part.records <= 1) return false;
  return may_overlap(part, RunView::Overlap::kOfOneRankOrOrdered, memory);
}

Result<bool> ranks_may_overlap(const ContributionPart& part, RecordRun::Memory memory) {
  if (part.records <= 1) return false;
  return may_overlap(part, RunView::Overlap::kOfOneRank, memory);
}

namespace {

// Also notes what the entry says of a segment that is one regular run.
Status add_runs(PageTree& tree, SegmentEntry& entry, const SortedRuns& sorted, unsigned rank,
                RecordRun::Memory memory) {
  const bool alone = sorted.origin.empty() && sorted.runs.size() == 1;
  for (std::size_t i = 0; i < sorted.runs.size();) {
    std::pmr::vector<const RecordRun*> page(memory);
    std::uint64_t records = 0;
    std::size_t bytes = 0;
    Box bounds;
    for (; i < sorted.runs.size() && bytes < kRunPageBytes; ++i) {
      const RecordRun& run = *sorted.runs[i];
      BENTO_ASSIGN(const RunView view, RunView::make(run, rank, memory));
      grow(bounds, view.bounds(), page.empty());
      QueryBudget budget{1u << 16};
      if (alone && view.apart(RunView::Overlap::kNone, budget)) entry.volume = view.volume();
      bytes += run.encoded_bytes();
      records += run.records();
      page.push_back(&run);
    }
    entry.regular += records;
    BENTO_TRY(tree.add_leaf(encode_run_page(page, bytes), records, bounds));
  }
  return {};
}

/// Elements of a few records; 0 if some of them overlap, or if there are too many to look at.
std::uint64_t volume_of_few(const SortedRuns& sorted, const RowShape& shape) {
  constexpr std::size_t kFew = 16;
  const std::size_t width = shape.width();
  const std::size_t records = sorted.rows.size() / width;
  if (records > kFew) return 0;
  if (records == 1) return row_box(sorted.rows, shape.rank).elements();
  std::vector<Box> boxes;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < records; ++i) {
    Box box = row_box(std::span(sorted.rows).subspan(i * width, width), shape.rank);
    for (const Box& other : boxes)
      if (overlaps(box, other)) return 0;
    if (__builtin_add_overflow(sum, box.elements(), &sum)) return 0;
    boxes.push_back(std::move(box));
  }
  return sum;
}

Status add_singles(PageTree& tree, SegmentEntry& entry, const SegmentContent& content,
                   const SortedRuns& sorted, std::span<const std::size_t> order) {
  const unsigned width = content.shape.width();
  if (sorted.runs.empty()) entry.volume = volume_of_few(sorted, content.shape);
  for (std::size_t first = 0; first < order.size(); first += kPageRecords) {
    const auto picked = order.subspan(first, std::min(kPageRecords, order.size() - first));
    Box bounds;
    for (const std::size_t i : picked)
      grow(bounds, row_box(std::span(sorted.rows).subspan(i * width, width), content.shape.rank),
           i == picked.front());
    BENTO_TRY(tree.add_leaf(encode_record_page(content.shape, sorted.rows, picked), picked.size(),
                            bounds));
  }
  return {};
}

/// The value ranges, in the order in which the records stand in the pages.
Result<BlobRef> store_ranges(SegmentSink& sink, const SegmentContent& content,
                             const SortedRuns& sorted, std::span<const std::size_t> order) {
  if (content.ranges.empty()) return BlobRef{};
  std::vector<ValueRange> permuted;
  permuted.reserve(content.ranges.size());
  for (std::size_t i = 0; i < sorted.runs.size(); ++i) {
    const auto own =
        std::span(content.ranges)
            .subspan(sorted.run_origin[i], static_cast<std::size_t>(sorted.runs[i]->records()));
    permuted.insert(permuted.end(), own.begin(), own.end());
  }
  for (const std::size_t i : order) permuted.push_back(content.ranges[sorted.origin[i]]);
  return write_ranges(sink, permuted);
}

void put_header(ByteWriter& out, const SegmentContent& content, std::uint64_t records,
                const BlobRef& ranges) {
  out.u8(kStepSegmentVersion);
  out.varint(content.dataset);
  out.varint(content.step.number());
  out.varint(content.shape.rank);
  out.varint(content.shape.element_bytes);
  out.u8(static_cast<std::uint8_t>((content.exact_times ? kExactTimes : 0) |
                                   (ranges.bytes != 0 ? kHasRanges : 0)));
  out.bytes(content.digest.sum);
  out.varint(records);
  out.varint(content.extents.size());
  for (const auto& event : content.extents) {
    out.varint(event.collective);
    for (const auto value : event.extent.view()) out.varint(value);
  }
  if (ranges.bytes != 0) put_ref(out, ranges);
}

}  // namespace

Result<SegmentEntry> write_segment(SegmentSink& sink, const SegmentContent& content,
                                   RecordRun::Memory memory) {
  const unsigned rank = content.shape.rank;
  const unsigned width = content.shape.width();
  const SortedRuns sorted = sort_out(content.runs, width, memory);
  const auto order = spatial_order(sorted, rank, width);
  SegmentEntry entry;
  PageTree tree(sink, rank);
  BENTO_TRY(add_runs(tree, entry, sorted, rank, memory));
  BENTO_TRY(add_singles(tree, entry, content, sorted, order));
  BENTO_TRY(tree.join());
  entry.records = tree.records();
  entry.bounds = tree.bounds();
  BENTO_ASSIGN(const BlobRef ranges, store_ranges(sink, content, sorted, order));
  ByteWriter out;
  out.reserve(kUsualSegmentBytes);
  put_header(out, content, entry.records, ranges);
  tree.put_root(out);
  BENTO_ASSIGN(entry.ref, sink.append(out.view()));
  return entry;
}

Result<SegmentEntry> write_segment_like(SegmentSink& sink, const SegmentContent& content,
                                        std::span<const std::byte> run, const SegmentEntry& like) {
  ByteWriter out;
  out.reserve(kUsualSegmentBytes);
  put_header(out, content, like.records, BlobRef{});
  out.u8(kPageInside);
  put_run_page(out, run);
  SegmentEntry entry = like;
  BENTO_ASSIGN(entry.ref, sink.append(out.view()));
  return entry;
}

Result<StepSegment> StepSegment::open(SegmentSource& source, const BlobRef& ref) {
  StepSegment segment;
  BENTO_ASSIGN(segment.blob_, source.read(ref));
  ByteReader in(*segment.blob_, std::endian::little, "step segment");
  BENTO_ASSIGN(const std::uint8_t version, in.u8());
  if (version != kStepSegmentVersion)
    return fail(Code::kUnsupported, fmt::format("step segment version {}, this h5bento reads {}",
                                                version, kStepSegmentVersion));
  const std::uint64_t dataset = in.next_varint();
  const std::uint64_t step = in.next_varint();
  const std::uint64_t rank = in.next_varint();
  segment.shape_.element_bytes = in.next_varint();
  const std::uint8_t flags = in.next_u8();
  in.next_bytes(segment.digest_.sum);
  segment.records_ = in.next_varint();
  const std::uint64_t extents = in.next_varint();
  BENTO_TRY(in.settled());
  if (dataset >> 32 != 0 || rank > kMaxRank || flags > (kExactTimes | kHasRanges))
    return fail(Code::kCorrupt, fmt::format("step segment of dataset {}, {} dimensions, flags {}",
                                            dataset, rank, flags));
  segment.dataset_ = static_cast<DatasetNumber>(dataset);
  segment.step_ = AbsoluteStep(step);
  segment.shape_.rank = static_cast<unsigned>(rank);
  segment.exact_times_ = (flags & kExactTimes) != 0;
  BENTO_TRY(in.fits(extents, 1 + static_cast<std::size_t>(rank)));
  if (extents > kMostExtents)
    return fail(Code::kUnsupported, fmt::format("step segment: {} changes of extent, at most {}",
                                                extents, kMostExtents));
  for (std::uint64_t i = 0; i < extents; ++i) {
    ExtentEvent event{segment.dataset_, 0, Dims(segment.shape_.rank)};
    BENTO_ASSIGN(event.collective, in.varint());
    for (unsigned d = 0; d < rank; ++d) {
      BENTO_ASSIGN(event.extent[d], in.varint());
    }
    segment.extents_.push_back(event);
  }
  if ((flags & kHasRanges) != 0) {
    BENTO_ASSIGN(segment.ranges_, get_ref(in));
  }
  BENTO_ASSIGN(const std::uint8_t place, in.u8());
  if (place == kPageInside) {
    segment.page_at_ = in.offset();
    return segment;
  }
  if (place == kPageOutside) {
    BENTO_ASSIGN(segment.page_, get_ref(in));
  } else if (place != kNoPage || segment.records_ != 0) {
    return fail(Code::kCorrupt,
                fmt::format("step segment: {} records in no page", segment.records_));
  }
  if (in.remaining() != 0)
    return fail(Code::kCorrupt, fmt::format("step segment: {} bytes left over", in.remaining()));
  return segment;
}

Status StepSegment::find(SegmentSource& source, const Box* selection, QueryBudget& budget,
                         const Visit& visit) const {
  const auto as_record = [&](std::uint64_t position, std::span<const std::uint64_t> row) -> Status {
    BENTO_ASSIGN(const Record record, from_row(shape_, dataset_, row));
    return visit(position, record);
  };
  if (page_.bytes != 0) {
    BENTO_ASSIGN(const Blob page, source.read(page_));
    return find_in_page(source, *page, shape_, selection, budget, as_record);
  }
  if (page_at_ == 0) return {};
  return find_in_page(source, std::span<const std::byte>(*blob_).subspan(page_at_), shape_,
                      selection, budget, as_record);
}

Result<bool> StepSegment::find_only(const Box& selection, Record& found) const {
  Row row;
  if (page_at_ == 0 || !extents_.empty() ||
      !find_only_record(std::span<const std::byte>(*blob_).subspan(page_at_), shape_, selection,
                        row))
    return false;
  BENTO_ASSIGN(
      found, from_row(shape_, dataset_, std::span<const std::uint64_t>(row).first(shape_.width())));
  return contains(found.box, selection);
}

Status StepSegment::visit_refs(SegmentSource& source,
                               const std::function<Status(const BlobRef&)>& use) const {
  if (ranges_.bytes != 0) {
    BENTO_TRY(use(ranges_));
    BENTO_TRY(visit_range_refs(source, ranges_, use));
  }
  if (page_.bytes != 0) {
    BENTO_TRY(use(page_));
    BENTO_ASSIGN(const Blob page, source.read(page_));
    return visit_page_refs(source, *page, shape_.rank, use);
  }
  if (page_at_ == 0) return {};
  return visit_page_refs(source, std::span<const std::byte>(*blob_).subspan(page_at_), shape_.rank,
                         use);
}

Result<bool> StepSegment::may_hold(SegmentSource& source, std::uint64_t position,
                                   const ValueRange& wanted) const {
  if (!has_ranges()) return true;
  return range_meets(source, ranges_, position, wanted);
}

}  // namespace bento
