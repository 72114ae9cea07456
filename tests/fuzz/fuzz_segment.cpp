// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Index entries as ranks send them to each other. What is accepted is written as it was read, and
/// an index can hold and search it.
#include <algorithm>

#include "core/records/index.hpp"
#include "core/steps/segment_codec.hpp"
#include "tests/fuzz/target.hpp"

namespace bento::fuzz {
namespace {

constexpr std::size_t kHashBytes = 16;
constexpr std::size_t kMostRecords = 200;  // lookups of many overlapping records cost time

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
  const auto decoded = decode_entries(input);
  if (!decoded) return;
  require(decoded->records.size() * kHashBytes <= input.size(), "records have bytes");

  // Records are sorted by dataset when they are written, so only the second time must agree.
  const auto written = encode_entries(*decoded);
  const auto again = decode_entries(written);
  require(again && encode_entries(*again) == written, "a segment is written as it was read");
  require(again->records.size() == decoded->records.size(), "no record is lost");

  if (decoded->records.size() > kMostRecords || decoded->extents.size() > kMostRecords) return;
  Index index;
  for (const auto& dataset : decoded->datasets) index.declare(dataset);
  for (const auto& event : decoded->extents)
    if (!index.clip(event)) return;
  for (const auto& record : decoded->records)
    if (!index.add(record)) return;
  search(index, *decoded);
}

}  // namespace bento::fuzz

BENTO_FUZZ_MAIN(segment)
