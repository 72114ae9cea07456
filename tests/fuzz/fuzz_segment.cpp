// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Index segments: u8 options, then a segment, or only its entries as ranks send them to each
/// other. What is accepted is written as it was read, and an index can hold and search it.
#include <algorithm>

#include "core/base/hash.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/index/index.hpp"
#include "core/index/segment_codec.hpp"
#include "tests/fuzz/target.hpp"

namespace bento::fuzz {
namespace {

enum Options : unsigned {
  kSegment = 1,  ///< the input has the envelope
  kSeal = 2,     ///< length and checksum are put right
};
constexpr std::size_t kHeadBytes = 16;
constexpr std::size_t kHashBytes = 16;
constexpr std::size_t kMostRecords = 200;  // lookups of many overlapping records cost time

void seal(std::vector<std::byte>& bytes) {
  if (bytes.size() < kHeadBytes + kHashBytes) return;
  ByteWriter length;
  length.u64(bytes.size());
  std::ranges::copy(length.view(), bytes.begin() + 8);
  const auto body = std::span(bytes).first(bytes.size() - kHashBytes);
  std::ranges::copy(hash128(body), bytes.end() - kHashBytes);
}

bool overlap(const Box& a, const Box& b) {
  for (unsigned d = 0; d < a.rank(); ++d)
    if (a.start[d] >= b.start[d] + b.count[d] || b.start[d] >= a.start[d] + a.count[d])
      return false;
  return true;
}

bool inside(const Box& part, const Box& whole) {
  for (unsigned d = 0; d < part.rank(); ++d)
    if (part.start[d] < whole.start[d] ||
        part.start[d] + part.count[d] > whole.start[d] + whole.count[d])
      return false;
  return true;
}

void search(const Index& index, const Segment& segment) {
  for (const DatasetNumber dataset : index.datasets()) {
    const auto* const declared = index.find(dataset);
    require(declared != nullptr, "a listed dataset is declared");
    Box selection{Dims(declared->rank), Dims(declared->rank)};
    for (unsigned d = 0; d < declared->rank; ++d) selection.count[d] = 7;
    for (const auto& record : segment.records)
      if (record.dataset == dataset && record.box.rank() == declared->rank) selection = record.box;
    const auto found = index.find(dataset, selection);
    if (!found) continue;
    for (std::size_t i = 0; i < found->pieces.size(); ++i) {
      const auto& piece = found->pieces[i];
      require(piece.record < index.size(dataset), "a piece has a record");
      require(inside(piece.part, selection), "a piece lies in the selection");
      require(inside(piece.part, index.record(dataset, piece.record).box),
              "a piece lies in its record");
      for (std::size_t j = 0; j < i; ++j)
        require(!overlap(piece.part, found->pieces[j].part), "pieces are disjoint");
    }
    for (const auto& hole : found->uncovered)
      require(inside(hole, selection), "what nobody wrote lies in the selection");
  }
}

}  // namespace

void segment(Input input) {
  Dice dice(input);
  const auto options = dice.number(1);
  std::vector<std::byte> bytes(dice.rest().begin(), dice.rest().end());
  if ((options & kSeal) != 0) seal(bytes);
  const auto decoded = (options & kSegment) != 0 ? decode_segment(bytes) : decode_entries(bytes);
  if (!decoded) return;
  require(decoded->records.size() * kHashBytes <= bytes.size(), "records have bytes");

  // Records are sorted by dataset when they are written, so only the second time must agree.
  const auto written = encode_segment(*decoded);
  const auto again = decode_segment(written);
  require(again && encode_segment(*again) == written, "a segment is written as it was read");
  require(again->records.size() == decoded->records.size(), "no record is lost");

  if (decoded->records.size() > kMostRecords || decoded->extents.size() > kMostRecords) return;
  Index index;
  if (!index.add(*decoded)) return;
  search(index, *decoded);
}

}  // namespace bento::fuzz

BENTO_FUZZ_MAIN(segment)
