// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/contribution.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "core/records/box_tree.hpp"
#include "core/steps/run_head.hpp"

namespace bento {

namespace {

constexpr std::size_t kRangeBytes = 16;
/// Most runs are of few records: they are to take memory once.
constexpr std::size_t kUsualRunBytes = 96;
enum PartFlags : std::uint8_t { kExactTimes = 1, kHasRanges = 2 };

void put_part(ByteWriter& out, const ContributionPart& part) {
  out.varint(part.dataset);
  out.varint(part.shape.rank);
  out.varint(part.shape.element_bytes);
  out.u8(static_cast<std::uint8_t>((part.exact_times ? kExactTimes : 0) |
                                   (part.has_ranges ? kHasRanges : 0)));
  out.varint(part.records);
  out.bytes(part.digest.sum);
  out.varint(part.pieces.size());
  for (const auto piece : part.pieces) {
    out.varint(piece.size());
    out.bytes(piece);
  }
  out.bytes(part.ranges);
}

void put_range(ByteWriter& out, const ValueRange& range) {
  out.u64(range.low);
  out.u64(range.high);
}

/// Merges the parts of one dataset after the other. What it needs is kept for the next.
class PartMerger {
 public:
  /// Appends to `out`. Errors: kInvalidArgument (other shapes), kCorrupt.
  Status merge(ByteWriter& out, const ContributionPart& left, const ContributionPart& right) {
    if (!(left.shape == right.shape))
      return fail(Code::kInvalidArgument,
                  fmt::format("the ranks disagree on the shape of dataset {}", left.dataset));
    both_.dataset = left.dataset;
    both_.shape = left.shape;
    both_.records = left.records + right.records;
    both_.exact_times = left.exact_times && right.exact_times;
    both_.digest = left.digest;
    both_.digest.add(right.digest);

    joined_.clear();
    both_.pieces.assign(left.pieces.begin(), left.pieces.end());
    auto more = std::span(right.pieces);
    BENTO_ASSIGN(const bool joins, joiner_.join(left.pieces.back(), right.pieces.front(),
                                                left.shape.width(), joined_));
    if (joins) {
      both_.pieces.back() = joined_.view();
      more = more.subspan(1);
    }
    both_.pieces.insert(both_.pieces.end(), more.begin(), more.end());

    both_.has_ranges = left.has_ranges && right.has_ranges;
    ranges_.clear();
    if (both_.has_ranges) {
      ranges_.assign(left.ranges.begin(), left.ranges.end());
      ranges_.insert(ranges_.end(), right.ranges.begin(), right.ranges.end());
    }
    both_.ranges = ranges_;
    put_part(out, both_);
    return {};
  }

 private:
  RunJoiner joiner_;
  ContributionPart both_;
  ByteWriter joined_;
  std::vector<std::byte> ranges_;
};

/// The parts of a contribution, one after the other.
class PartReader {
 public:
  static Result<PartReader> open(std::span<const std::byte> bytes) {
    PartReader reader(bytes);
    BENTO_ASSIGN(reader.left_, reader.in_.varint());
    BENTO_TRY(reader.in_.fits(reader.left_, 22));
    if (reader.left_ == 0) BENTO_TRY(reader.end());
    return reader;
  }
  [[nodiscard]] std::uint64_t left() const { return left_; }

  /// Replaces `part`. Errors: kCorrupt; also if bytes are left over behind the last one.
  Status next(ContributionPart& part) {
    const std::uint64_t dataset = in_.next_varint();
    const std::uint64_t rank = in_.next_varint();
    part.shape.element_bytes = in_.next_varint();
    const std::uint8_t flags = in_.next_u8();
    part.records = in_.next_varint();
    in_.next_bytes(part.digest.sum);
    const std::uint64_t pieces = in_.next_varint();
    if (!in_.is_settled()) return in_.settled();
    BENTO_TRY(in_.fits(pieces, 1));
    if (dataset >> 32 != 0 || rank > kMaxRank || flags > (kExactTimes | kHasRanges) ||
        pieces == 0 || part.records < pieces || (previous_ && dataset <= *previous_))
      return fail(Code::kCorrupt,
                  fmt::format("index contribution: impossible head of dataset {}", dataset));
    part.dataset = static_cast<DatasetNumber>(dataset);
    part.shape.rank = static_cast<unsigned>(rank);
    part.exact_times = (flags & kExactTimes) != 0;
    part.has_ranges = (flags & kHasRanges) != 0;
    part.pieces.clear();
    part.pieces.reserve(static_cast<std::size_t>(pieces));
    for (std::uint64_t i = 0; i < pieces; ++i) {
      BENTO_ASSIGN(const std::uint64_t length, in_.varint());
      BENTO_ASSIGN(const auto piece, in_.bytes(length));
      part.pieces.push_back(piece);
    }
    part.ranges = {};
    if (part.has_ranges) {
      BENTO_TRY(in_.fits(part.records, kRangeBytes));
      BENTO_ASSIGN(part.ranges, in_.bytes(part.records * kRangeBytes));
    }
    previous_ = part.dataset;
    --left_;
    return left_ == 0 ? end() : Status{};
  }

 private:
  explicit PartReader(std::span<const std::byte> bytes)
      : in_(bytes, std::endian::little, "index contribution") {}
  [[nodiscard]] Status end() const {
    if (in_.remaining() != 0)
      return fail(Code::kCorrupt,
                  fmt::format("index contribution: {} bytes left over", in_.remaining()));
    return {};
  }
  ByteReader in_;
  std::uint64_t left_ = 0;
  std::optional<DatasetNumber> previous_;
};

}  // namespace

void RecordDigest::add(const Record& record) {
  if (record.hash == Hash128{}) return;
  std::array<std::byte, sizeof(Hash128) + 12> bytes{};
  auto* at = std::copy(record.hash.begin(), record.hash.end(), bytes.begin());
  for (unsigned shift = 0; shift < 32; shift += 8)
    *at++ = static_cast<std::byte>(record.where.task >> shift & 0xFFu);
  for (unsigned shift = 0; shift < 64; shift += 8)
    *at++ = static_cast<std::byte>(record.where.offset >> shift & 0xFFu);
  add(RecordDigest{hash128(bytes)});
}

void RecordDigest::add(const RecordDigest& other) {
  unsigned carry = 0;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    carry += std::to_integer<unsigned>(sum[i]) + std::to_integer<unsigned>(other.sum[i]);
    sum[i] = static_cast<std::byte>(carry & 0xFFu);
    carry >>= 8;
  }
}

Status ContributionBuilder::add(const Record& record, std::uint64_t element_bytes,
                                const ValueRange& range) {
  // In most streams datasets lie in the order of their numbers.
  auto& entry = datasets_.try_emplace(datasets_.end(), record.dataset)->second;
  const RowShape shape{record.box.rank(), element_bytes};
  if (!entry.rows.empty() && !(entry.shape == shape))
    return fail(Code::kInvalidArgument,
                fmt::format("two shapes of dataset {} in one commit", record.dataset));
  entry.shape = shape;
  Row row;
  BENTO_TRY(to_row(shape, record, row));
  entry.rows.insert(entry.rows.end(), row.begin(), row.begin() + shape.width());
  if (options_.ranges) entry.ranges.push_back(range);
  entry.digest.add(record);
  return {};
}

namespace {

// Replaces times by layers: a record lies above what it overlaps and is later than, at the same
// collective count. False if that would cost too much; the times then stay.
bool set_layers(const RowShape& shape, std::span<std::uint64_t> rows) {
  constexpr std::size_t kFew = 64;
  const unsigned width = shape.width();
  const std::size_t count = rows.size() / width;
  const auto field = [&](std::size_t i, Field f) -> std::uint64_t& {
    return rows[i * width + shape.field(f)];
  };
  if (count == 1) {
    field(0, kFieldTime) = 0;
    return true;
  }
  const auto box = [&](std::size_t i) {
    const std::span<const std::uint64_t> all = rows;
    return Box{Dims(all.subspan(i * width, shape.rank)),
               Dims(all.subspan(i * width + shape.rank, shape.rank))};
  };
  if (count > kFew) {
    if (shape.rank == 0) return false;
    std::vector<std::uint64_t> corners;
    for (std::size_t i = 0; i < count; ++i)
      corners.insert(
          corners.end(), rows.begin() + static_cast<std::ptrdiff_t>(i * width),
          rows.begin() + static_cast<std::ptrdiff_t>(i * width + std::size_t{2} * shape.rank));
    BoxTree tree;
    tree.build(corners, shape.rank, count);
    if (!tree.for_each_overlap(corners, [](std::size_t, std::size_t) { return false; }))
      return false;
    for (std::size_t i = 0; i < count; ++i) field(i, kFieldTime) = 0;
    return true;
  }
  std::vector<std::size_t> by_time(count);
  std::iota(by_time.begin(), by_time.end(), std::size_t{0});
  std::stable_sort(by_time.begin(), by_time.end(), [&](std::size_t a, std::size_t b) {
    return field(a, kFieldTime) < field(b, kFieldTime);
  });
  std::vector<std::uint64_t> layers(count);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const std::size_t here = by_time[i];
      const std::size_t there = by_time[j];
      if (field(here, kFieldCollective) == field(there, kFieldCollective) &&
          overlaps(box(here), box(there)))
        layers[here] = std::max(layers[here], layers[there] + 1);
    }
  for (std::size_t i = 0; i < count; ++i) field(i, kFieldTime) = layers[i];
  return true;
}

/// Rows one behind the other as runs, encoded.
std::vector<std::vector<std::byte>> encode_runs(std::span<const std::uint64_t> rows,
                                                unsigned width) {
  std::vector<RecordRun> runs;
  for (; !rows.empty(); rows = rows.subspan(width)) {
    if (runs.empty() || runs.back().tokens() >= kMaxJoinedTokens)
      runs.emplace_back(width, rows.first(width));
    else
      runs.back().push(rows.first(width));
  }
  std::vector<std::vector<std::byte>> pieces;
  for (const auto& run : runs) {
    ByteWriter piece;
    piece.reserve(kUsualRunBytes);
    run.encode(piece);
    pieces.push_back(std::move(piece).take());
  }
  return pieces;
}

}  // namespace

std::vector<std::byte> ContributionBuilder::encode() const {
  ByteWriter out;
  out.varint(datasets_.size());
  // Of many datasets with one record each no two take memory of their own.
  ContributionPart part;
  ByteWriter only;
  std::vector<std::uint64_t> layered;
  for (const auto& [dataset, entry] : datasets_) {
    part.dataset = dataset;
    part.shape = entry.shape;
    part.digest = entry.digest;
    part.exact_times = options_.all_exact_times || options_.exact_times.contains(dataset);
    std::span<const std::uint64_t> rows = entry.rows;
    if (!part.exact_times) {
      layered.assign(rows.begin(), rows.end());
      (void)set_layers(entry.shape, layered);
      rows = layered;
    }

    part.records = rows.size() / entry.shape.width();
    std::vector<std::vector<std::byte>> several;
    if (part.records == 1) {
      only.clear();
      RecordRun::encode_one(only, rows);
      part.pieces.assign(1, only.view());
    } else {
      several = encode_runs(rows, entry.shape.width());
      part.pieces.assign(several.begin(), several.end());
    }
    part.has_ranges = options_.ranges;
    ByteWriter ranges;
    for (const auto& range : entry.ranges) put_range(ranges, range);
    part.ranges = ranges.view();
    put_part(out, part);
  }
  return std::move(out).take();
}

std::vector<std::byte> encode_contribution(std::span<const ContributionPart> parts) {
  ByteWriter out;
  out.varint(parts.size());
  for (const auto& part : parts) put_part(out, part);
  return std::move(out).take();
}

Result<std::pmr::vector<ContributionPart>> parse_contribution(std::span<const std::byte> bytes,
                                                              RecordRun::Memory memory) {
  BENTO_ASSIGN(PartReader reader, PartReader::open(bytes));
  std::pmr::vector<ContributionPart> parts(memory);
  parts.reserve(static_cast<std::size_t>(reader.left()));
  while (reader.left() != 0) BENTO_TRY(reader.next(parts.emplace_back(memory)));
  return parts;
}

namespace {

/// The parts of one side of a merge.
struct Side {
  static Result<Side> open(std::span<const std::byte> bytes) {
    BENTO_ASSIGN(Side side, PartReader::open(bytes));
    BENTO_TRY(side.advance());
    return side;
  }
  Side(PartReader&& from) : reader(std::move(from)) {}  // NOLINT: so that it can be assigned
  Status advance() {
    there = reader.left() != 0;
    return there ? reader.next(part) : Status{};
  }
  PartReader reader;
  ContributionPart part;
  bool there = false;
};

}  // namespace

Result<std::vector<std::byte>> merge_contributions(std::span<const std::byte> left,
                                                   std::span<const std::byte> right) {
  PartMerger merger;
  ByteWriter out;
  out.reserve(left.size() + right.size() + sizeof(std::uint64_t));
  std::uint64_t count = 0;
  BENTO_ASSIGN(Side a, Side::open(left));
  BENTO_ASSIGN(Side b, Side::open(right));
  for (; a.there || b.there; ++count) {
    if (!b.there || (a.there && a.part.dataset < b.part.dataset)) {
      put_part(out, a.part);
      BENTO_TRY(a.advance());
    } else if (!a.there || b.part.dataset < a.part.dataset) {
      put_part(out, b.part);
      BENTO_TRY(b.advance());
    } else {
      BENTO_TRY(merger.merge(out, a.part, b.part));
      BENTO_TRY(a.advance());
      BENTO_TRY(b.advance());
    }
  }
  ByteWriter head;
  head.varint(count);
  auto bytes = std::move(out).take();
  bytes.insert(bytes.begin(), head.view().begin(), head.view().end());
  return bytes;
}

Result<std::pmr::vector<RecordRun>> decode_runs(const ContributionPart& part,
                                                RecordRun::Memory memory) {
  std::pmr::vector<RecordRun> runs(memory);
  runs.reserve(part.pieces.size());
  std::uint64_t records = 0;
  for (const auto piece : part.pieces) {
    BENTO_ASSIGN(RecordRun run, RecordRun::decode(piece, part.shape.width(), memory));
    records += run.records();
    runs.push_back(std::move(run));
  }
  if (records != part.records)
    return fail(Code::kCorrupt, fmt::format("index contribution: {} records of dataset {}, its "
                                            "head says {}",
                                            records, part.dataset, part.records));
  return runs;
}

std::vector<ValueRange> decode_ranges(const ContributionPart& part) {
  std::vector<ValueRange> ranges;
  ByteReader in(part.ranges, std::endian::little, "value ranges");
  ranges.reserve(part.ranges.size() / kRangeBytes);
  while (in.remaining() >= kRangeBytes) {
    const std::uint64_t low = *in.u64();
    const std::uint64_t high = *in.u64();
    ranges.push_back({low, high});
  }
  return ranges;
}

}  // namespace bento
