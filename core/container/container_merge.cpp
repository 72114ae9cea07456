// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A program that adds a little to a dataset and commits, again and again, leaves a record for each
/// time, and who reads it looks at all of them. So now and then a commit writes the elements of the
/// last of them once more, as one record. Source: docs/format.md, "Small records are merged".
#include <algorithm>
#include <functional>

#include "core/base/guarded.hpp"
#include "core/base/verified_reads.hpp"
#include "core/container/container.hpp"
#include "core/stream/block_writer.hpp"

namespace bento {

namespace {

/// A dataset is looked at in every so many of the commits that write to it, and so many records at
/// least become one.
constexpr unsigned kFewest = 8;
/// Records of this size are worth their own place.
constexpr std::uint64_t kMostBytes = kLargeRecordBytes;

bool same_but_for(unsigned dimension, const Box& a, const Box& b) {
  for (unsigned d = 0; d < a.rank(); ++d)
    if (d != dimension && (a.start[d] != b.start[d] || a.count[d] != b.count[d])) return false;
  return true;
}

/// Of what is seen in front of the end of `newest`, the pieces that end there one behind the other
/// along `dimension` and are whole plain records; the last one first. One that is larger than all
/// behind it ends them: so an element is written again only when the record with it has doubled.
std::vector<Piece> chain(RecordLookup& found, const Box& newest, unsigned dimension,
                         std::uint64_t element_bytes) {
  std::ranges::sort(found.pieces, std::greater<>{},
                    [&](const Piece& piece) { return piece.part.start[dimension]; });
  std::vector<Piece> chosen;
  std::uint64_t end = newest.start[dimension] + newest.count[dimension];
  std::uint64_t bytes = 0;
  for (const Piece& piece : found.pieces) {
    const Record& record = found.records[piece.record];
    const Box& part = piece.part;
    const std::uint64_t more = part.elements() * element_bytes;
    if (record.encoding != Encoding::kPlain || !(record.box == part) ||
        !same_but_for(dimension, part, newest) ||
        part.start[dimension] + part.count[dimension] != end || (bytes != 0 && more > bytes) ||
        bytes + more > kMostBytes)
      break;
    chosen.push_back(piece);
    bytes += more;
    end = part.start[dimension];
  }
  return chosen;
}

}  // namespace

// Of one rank alone: then all that it can see is its own, and to write it again changes nothing.
// Not where records are for FTI, which would refuse them, or values have ranges of their own.
bool Container::merges_small_records() const {
  return comm_->size() == 1 && state_.writable && !inherited() && layout_fixed_ &&
         state_.options.keep == 1 && !state_.options.minmax &&
         !state_.root.stream_rules().for_fti && !state_.options.spread;
}

// What cannot be read stays as it is; what cannot be written the commit says.
void Container::merge_small_records() {
  if (!merges_small_records()) return;
  const DatasetNumber first_new = state_.pending.datasets.empty()
                                      ? state_.next_dataset
                                      : state_.pending.datasets.front().number;
  std::vector<DatasetNumber> due;
  for (const auto& slot : stream_.uncommitted()) {
    SmallCommits& commits = small_commits_[slot.dataset];
    if (commits.newest_of == state_.root.sequence) {
      commits.newest = slot.position;
      continue;
    }
    commits.newest_of = state_.root.sequence;
    commits.newest = slot.position;
    // The first commit of a session cannot know how many were before it.
    const bool first = commits.count == 0;
    if (++commits.count % kFewest == 0 || (first && slot.dataset < first_new))
      due.push_back(slot.dataset);
  }
  for (const DatasetNumber dataset : due)
    (void)guarded([&] { return merge_behind(dataset, small_commits_[dataset].newest); });
}

// Asked first, since there may be very many records in front of what is written here and there.
Result<bool> Container::follows_another(const Record& newest, unsigned dimension) {
  Box in_front = newest.box;
  --in_front.start[dimension];
  in_front.count[dimension] = 1;
  BENTO_ASSIGN(const RecordLookup found, find(newest.dataset, in_front, Asked::kOnce));
  return found.pieces.size() == 1 && found.pieces[0].part == in_front &&
         same_but_for(dimension, found.records[found.pieces[0].record].box, newest.box);
}

// What was written without a hash must not look verified for having one later, and what has one
// must not lose it.
Result<bool> Container::would_be_verified_as_before(const RecordLookup& found,
                                                    std::span<const Piece> chosen) {
  const bool hashed = state_.options.stream.hash != fti::HashKind::kNone;
  for (const Piece& piece : chosen) {
    const Record& record = found.records[piece.record];
    if (StreamWriter::buffered(record.where)) continue;
    BENTO_ASSIGN(const bool has, reader_.has_hash(record));
    if (has != hashed) return false;
  }
  return true;
}

Status Container::merge_behind(DatasetNumber number, std::size_t position) {
  const DatasetDeclaration* const dataset = state_.index.find(number);
  if (dataset == nullptr || dataset->element_bytes == 0 ||
      (dataset->flags & kVariableElements) != 0)
    return {};
  const std::uint64_t element_bytes = dataset->element_bytes;
  const Record newest = state_.index.record(number, position);
  if (newest.encoding != Encoding::kPlain || newest.box.empty()) return {};
  for (unsigned d = 0; d < newest.box.rank(); ++d) {
    const std::uint64_t count = newest.box.count[d];
    const std::uint64_t layer = newest.box.elements() / count * element_bytes;
    const std::uint64_t layers = kMostBytes / layer;
    if (newest.box.start[d] == 0 || layers < kFewest || layers <= count) continue;
    BENTO_ASSIGN(const bool goes_on, follows_another(newest, d));
    if (!goes_on) continue;
    const std::uint64_t before = std::min(newest.box.start[d], layers - count);
    Box around = newest.box;
    around.start[d] -= before;
    around.count[d] += before;
    BENTO_ASSIGN(RecordLookup found, find(number, around, Asked::kOnce));
    const std::vector<Piece> chosen = chain(found, newest.box, d, element_bytes);
    if (chosen.size() < kFewest) continue;
    BENTO_ASSIGN(const bool same, would_be_verified_as_before(found, chosen));
    if (!same) return {};
    Box merged = around;
    merged.start[d] = chosen.back().part.start[d];
    merged.count[d] = newest.box.start[d] + count - merged.start[d];
    std::vector<std::byte> elements(static_cast<std::size_t>(merged.elements() * element_bytes));
    const VerifiedReads verified;
    for (const Piece& piece : chosen)
      BENTO_TRY(
          read(found.records[piece.record], piece.part, element_bytes, merged, elements.data()));
    return write(number, merged, element_bytes, elements);
  }
  return {};
}

}  // namespace bento
