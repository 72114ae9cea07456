// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/step_tables.hpp"

#include <algorithm>

#include "core/base/checked.hpp"

namespace bento {

namespace {

constexpr std::uint8_t kVersion = 1;
enum EntryFlags : std::uint8_t { kRecords = 1, kClip = 2, kCovers = 4 };

void put_box(ByteWriter& out, const Box& box) {
  for (unsigned d = 0; d < box.rank(); ++d) {
    out.varint(box.start[d]);
    out.varint(box.count[d]);
  }
}

Result<Box> get_box(ByteReader& in, unsigned rank) {
  Box box{Dims(rank), Dims(rank)};
  for (unsigned d = 0; d < rank; ++d) {
    BENTO_ASSIGN(box.start[d], in.varint());
    BENTO_ASSIGN(box.count[d], in.varint());
    const auto end = checked_add(box.start[d], box.count[d]);
    if (!end || *end >> 63 != 0)
      return fail(Code::kCorrupt, "step index: bounds that leave the space of 2^63 elements");
  }
  return box;
}

Result<Dims> get_dims(ByteReader& in, unsigned rank) {
  Dims dims(rank);
  for (unsigned d = 0; d < rank; ++d) {
    BENTO_ASSIGN(dims[d], in.varint());
  }
  return dims;
}

// Levels, and the reference unless there are none; the summary only where the root lies in an
// entry that wants it.
template <class Root>
void put_array(ByteWriter& out, const Root& root) {
  out.u8(static_cast<std::uint8_t>(root.levels));
  if (root.levels != 0) put_ref(out, root.ref);
}
template <class Root>
Status get_array(ByteReader& in, Root& root) {
  BENTO_ASSIGN(root.levels, in.u8());
  if (root.levels > 16)
    return fail(Code::kCorrupt, fmt::format("step index: an array of {} levels", root.levels));
  if (root.levels != 0) {
    BENTO_ASSIGN(root.ref, get_ref(in));
  }
  return {};
}

Result<std::uint32_t> get_u32(ByteReader& in) {
  BENTO_ASSIGN(const std::uint64_t value, in.varint());
  if (value >> 32 != 0)
    return fail(Code::kCorrupt, fmt::format("step index: {} does not fit 32 bits", value));
  return static_cast<std::uint32_t>(value);
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

Result<StepEntry> SegmentTraits::get_entry(ByteReader& in) const {
  StepEntry entry;
  BENTO_ASSIGN(const std::uint8_t flags, in.u8());
  if (flags > (kRecords | kClip | kCovers))
    return fail(Code::kCorrupt, fmt::format("step index: flags {} of a step", flags));
  entry.covers = (flags & kCovers) != 0;
  BENTO_ASSIGN(entry.segment, get_ref(in));
  entry.bounds = {Dims(rank), Dims(rank)};
  if ((flags & kRecords) != 0) {
    BENTO_ASSIGN(entry.records, in.varint());
    BENTO_ASSIGN(entry.bounds, get_box(in, rank));
  }
  if ((flags & kClip) != 0) {
    BENTO_ASSIGN(entry.clip, get_dims(in, rank));
  }
  return entry;
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
  BENTO_ASSIGN(const std::uint8_t flags, in.u8());
  if (flags > (kRecords | kClip))
    return fail(Code::kCorrupt, fmt::format("step index: flags {} of a page", flags));
  BENTO_ASSIGN(summary.steps, in.varint());
  summary.any_records = (flags & kRecords) != 0;
  summary.bounds = {Dims(rank), Dims(rank)};
  if (summary.any_records) {
    BENTO_ASSIGN(summary.bounds, get_box(in, rank));
  }
  if ((flags & kClip) != 0) {
    BENTO_ASSIGN(summary.clip, get_dims(in, rank));
  }
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

void DatasetTraits::put_entry(ByteWriter& out, const Entry& entry) const {
  const auto& declaration = entry.declaration;
  out.varint(declaration.number);
  out.bytes(declaration.token);
  out.varint(declaration.element_bytes);
  out.varint(declaration.rank);
  out.varint(declaration.flags);
  out.varint(entry.declared.number());
  out.varint(entry.deleted.number());
  out.varint(entry.dropped);
  put_array(out, entry.steps);
  if (entry.steps.levels != 0)
    SegmentTraits{declaration.rank}.put_summary(out, entry.steps.summary);
}

Result<DatasetEntry> DatasetTraits::get_entry(ByteReader& in) const {
  DatasetEntry entry;
  auto& declaration = entry.declaration;
  BENTO_ASSIGN(declaration.number, get_u32(in));
  BENTO_ASSIGN(const auto token, in.bytes(declaration.token.size()));
  std::copy(token.begin(), token.end(), declaration.token.begin());
  BENTO_ASSIGN(declaration.element_bytes, in.varint());
  BENTO_ASSIGN(declaration.rank, get_u32(in));
  BENTO_ASSIGN(declaration.flags, get_u32(in));
  if (declaration.rank > kMaxRank)
    return fail(Code::kCorrupt, fmt::format("step index: {} dimensions", declaration.rank));
  BENTO_ASSIGN(const std::uint64_t declared, in.varint());
  BENTO_ASSIGN(const std::uint64_t deleted, in.varint());
  entry.declared = AbsoluteStep(declared);
  entry.deleted = AbsoluteStep(deleted);
  BENTO_ASSIGN(entry.dropped, in.varint());
  BENTO_TRY(get_array(in, entry.steps));
  if (entry.steps.levels != 0) {
    BENTO_ASSIGN(entry.steps.summary, SegmentTraits{declaration.rank}.get_summary(in));
  }
  return entry;
}

std::vector<std::byte> encode(const StepIndexRoot& root) {
  ByteWriter out;
  out.u8(kVersion);
  out.varint(root.newest.number());
  out.varint(root.oldest.number());
  put_array(out, root.datasets);
  put_array(out, root.steps);
  return std::move(out).take();
}

Result<StepIndexRoot> decode_step_index_root(std::span<const std::byte> bytes) {
  ByteReader in(bytes, std::endian::little, "step index root");
  StepIndexRoot root;
  BENTO_ASSIGN(const std::uint8_t version, in.u8());
  if (version != kVersion)
    return fail(Code::kUnsupported,
                fmt::format("step index version {}, this h5bento reads {}", version, kVersion));
  BENTO_ASSIGN(const std::uint64_t newest, in.varint());
  BENTO_ASSIGN(const std::uint64_t oldest, in.varint());
  root.newest = AbsoluteStep(newest);
  root.oldest = AbsoluteStep(oldest);
  BENTO_TRY(get_array(in, root.datasets));
  BENTO_TRY(get_array(in, root.steps));
  if (in.remaining() != 0 || oldest > newest)
    return fail(Code::kCorrupt, fmt::format("step index root: steps {} to {}, {} bytes left over",
                                            oldest, newest, in.remaining()));
  return root;
}

}  // namespace bento
