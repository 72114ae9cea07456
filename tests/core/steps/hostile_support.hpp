// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Pages, segments and whole indices made to deceive, with all their checksums right.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "core/steps/step_segment.hpp"
#include "core/steps/step_tables.hpp"

namespace bento::step_test {

/// A segment of dataset 0, step 1; `page` follows in it, or it refers to `outside`.
inline std::vector<std::byte> segment_bytes(unsigned rank, std::uint64_t element_bytes,
                                            std::span<const std::byte> page,
                                            const BlobRef& outside = {}) {
  ByteWriter out;
  out.u8(1);
  out.varint(0);
  out.varint(1);
  out.varint(rank);
  out.varint(element_bytes);
  out.u8(0);
  out.zeros(16);
  out.varint(1);
  out.varint(0);
  out.u8(outside.bytes != 0 ? 2 : 1);
  if (outside.bytes != 0)
    put_ref(out, outside);
  else
    out.bytes(page);
  return std::move(out).take();
}

inline std::vector<std::byte> run_page(const RecordRun& run) {
  const RecordRun* const one = &run;
  return encode_run_page({&one, 1});
}

inline Row row_of(const Record& record, std::uint64_t element_bytes) {
  Row row{};
  REQUIRE(to_row({record.box.rank(), element_bytes}, record, row));
  return row;
}

/// A run of 2^`doublings` records, all in the place of `record`.
inline RecordRun many_of(Record record, std::uint64_t element_bytes, unsigned doublings) {
  const unsigned width = RowShape{record.box.rank(), element_bytes}.width();
  RecordRun run(width, row_of(record, element_bytes));
  if (doublings == 0) return run;
  ++record.order.collective;
  run.push(row_of(record, element_bytes));
  for (unsigned done = 1; done < doublings; ++done) run.append(RecordRun(run));
  return run;
}

/// Pages of an array from `level` up to the topmost, 15: each names the one below it 16 times, the
/// lowest one names `below`. What `summary` holds is said of each page.
inline BlobRef stacked_pages(SegmentSink& sink, BlobRef below, unsigned level,
                             std::span<const std::byte> summary = {}) {
  for (; level < 16; ++level) {
    ByteWriter out;
    out.u8(static_cast<std::uint8_t>(level));
    out.u16(0xFFFF);
    for (int slot = 0; slot < 16; ++slot) {
      put_ref(out, below);
      out.bytes(summary);
    }
    const auto page = sink.append(out.view());
    REQUIRE(page);
    below = *page;
  }
  return below;
}

/// A segment that claims to have `said` records.
inline std::vector<std::byte> with_count(std::span<const std::byte> segment, std::uint64_t said) {
  ByteReader in(segment);
  const auto skip = [&](unsigned varints) {
    while (varints-- > 0) REQUIRE(in.varint());
  };
  REQUIRE(in.bytes(1));
  skip(4);
  REQUIRE(in.bytes(1 + 16));
  const std::size_t count_at = segment.size() - in.remaining();
  skip(1);
  ByteWriter out;
  out.bytes(segment.first(count_at));
  out.varint(said);
  out.bytes(segment.last(in.remaining()));
  return std::move(out).take();
}

/// Stores what it is given, but other runs in the segment of one step: all that refers to it has
/// the right checksum, and believes what was given.
class ForgingSink : public SegmentSink {
 public:
  ForgingSink(SegmentSource& source, SegmentSink& sink) : source_(source), sink_(sink) {}
  /// `said`: how many records the segment claims to have; 0: as many as it has.
  void forge(AbsoluteStep step, std::vector<RecordRun> runs, std::uint64_t said = 0) {
    step_ = step;
    runs_ = std::move(runs);
    said_ = said;
  }
  Result<BlobRef> append(std::span<const std::byte> bytes) override {
    BENTO_ASSIGN(const BlobRef stored, sink_.append(bytes));
    const auto segment = StepSegment::open(source_, stored);
    if (!segment || !step_ || segment->step() != *step_ || segment->records() == 0) return stored;
    SegmentContent content;
    content.dataset = segment->dataset();
    content.step = segment->step();
    content.shape = segment->shape();
    content.digest = segment->digest();
    content.runs.assign(runs_.begin(), runs_.end());
    BENTO_ASSIGN(const SegmentEntry forged, write_segment(sink_, content));
    ++forged_;
    if (said_ == 0) return forged.ref;
    BENTO_ASSIGN(const Blob blob, source_.read(forged.ref));
    return sink_.append(with_count(*blob, said_));
  }
  [[nodiscard]] unsigned forged() const { return forged_; }

 private:
  SegmentSource& source_;
  SegmentSink& sink_;
  std::optional<AbsoluteStep> step_;
  std::vector<RecordRun> runs_;
  std::uint64_t said_ = 0;
  unsigned forged_ = 0;
};

}  // namespace bento::step_test
