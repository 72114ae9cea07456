// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/segment_traits.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace bento {

namespace {

enum EntryFlags : std::uint8_t { kRecords = 1, kClip = 2, kCovers = 4 };

void put_box(ByteWriter& out, const Box& box) {
  for (unsigned d = 0; d < box.rank(); ++d) {
    out.varint(box.start[d]);
    out.varint(box.count[d]);
  }
}

// As many dimensions as `box` has.
Status next_box(ByteReader& in, Box& box) {
  for (unsigned d = 0; d < box.rank(); ++d) {
    const std::uint64_t start = in.next_varint();
    const std::uint64_t count = in.next_varint();
    std::uint64_t end = 0;
    if (__builtin_add_overflow(start, count, &end) || end >> 63 != 0)
      return fail(Code::kCorrupt, "step index: bounds that leave the space of 2^63 elements");
    box.start[d] = start;
    box.count[d] = count;
  }
  return {};
}

Dims next_dims(ByteReader& in, unsigned rank) {
  Dims dims(rank);
  for (unsigned d = 0; d < rank; ++d) dims[d] = in.next_varint();
  return dims;
}

}  // namespace

void narrow_clip(std::optional<Dims>& clip, const Dims& extent) {
  if (!clip) {
    clip = extent;
    return;
  }
  for (unsigned d = 0; d < extent.rank(); ++d) (*clip)[d] = std::min((*clip)[d], extent[d]);
}

void SegmentTraits::put_entry(ByteWriter& out, const Entry& entry) const {
  const bool records = entry.records != 0;
  out.u8(static_cast<std::uint8_t>((records ? kRecords : 0) | (entry.clip ? kClip : 0) |
                                   (entry.covers ? kCovers : 0)));
  put_ref(out, entry.segment);
  if (records) {
    out.varint(entry.records);
    put_box(out, entry.bounds);
  }
  if (entry.clip)
    for (const auto value : entry.clip->view()) out.varint(value);
}

Status SegmentTraits::get_entry(ByteReader& in, StepEntry& entry) const {
  const std::uint8_t flags = in.next_u8();
  if (flags > (kRecords | kClip | kCovers))
    return fail(Code::kCorrupt, fmt::format("step index: flags {} of a step", flags));
  entry.covers = (flags & kCovers) != 0;
  BENTO_TRY(next_ref(in, entry.segment));
  entry.bounds = {Dims(rank), Dims(rank)};
  if ((flags & kRecords) != 0) {
    entry.records = in.next_varint();
    BENTO_TRY(next_box(in, entry.bounds));
  }
  if ((flags & kClip) != 0) entry.clip = next_dims(in, rank);
  return in.settled();
}

void SegmentTraits::put_summary(ByteWriter& out, const Summary& summary) const {
  out.u8(
      static_cast<std::uint8_t>((summary.any_records ? kRecords : 0) | (summary.clip ? kClip : 0)));
  out.varint(summary.steps);
  if (summary.any_records) put_box(out, summary.bounds);
  if (summary.clip)
    for (const auto value : summary.clip->view()) out.varint(value);
}

Result<StepSummary> SegmentTraits::get_summary(ByteReader& in) const {
  StepSummary summary;
  const std::uint8_t flags = in.next_u8();
  if (flags > (kRecords | kClip))
    return fail(Code::kCorrupt, fmt::format("step index: flags {} of a page", flags));
  summary.steps = in.next_varint();
  summary.any_records = (flags & kRecords) != 0;
  summary.bounds = {Dims(rank), Dims(rank)};
  if (summary.any_records) BENTO_TRY(next_box(in, summary.bounds));
  if ((flags & kClip) != 0) summary.clip = next_dims(in, rank);
  BENTO_TRY(in.settled());
  return summary;
}

StepSummary SegmentTraits::summary_of(const Entry& entry) const {
  return {1, entry.records != 0, entry.bounds, entry.clip};
}

void SegmentTraits::add(Summary& to, const Summary& other) const {
  to.steps += other.steps;
  if (other.any_records) {
    if (to.any_records)
      grow(to.bounds, other.bounds);
    else
      to.bounds = other.bounds;
    to.any_records = true;
  }
  if (other.clip) narrow_clip(to.clip, *other.clip);
}

}  // namespace bento
