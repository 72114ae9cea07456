// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/offline/rank_share.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace bento {

namespace {

constexpr std::uint64_t kPieceBytes = 1u << 20;
/// Rows of several records take turns: so much is read ahead of each.
constexpr std::uint64_t kAheadBytes = 64u << 10;

int compare(const Dims& a, const Dims& b) {
  for (unsigned d = 0; d < a.rank(); ++d)
    if (a[d] != b[d]) return a[d] < b[d] ? -1 : 1;
  return 0;
}

/// The part's elements of one row, the fastest dimension.
std::uint64_t row_elements(const Box& part) {
  return part.rank() == 0 ? 1 : part.count[part.rank() - 1];
}

}  // namespace

bool RankShare::Later::operator()(std::size_t a, std::size_t b) const {
  return compare((*cursors)[a].at, (*cursors)[b].at) > 0;
}

RankShare::RankShare(fti::HashKind hash, StreamPlace place, std::uint64_t element_bytes,
                     std::vector<SharePart> parts, const DecodeRecord& decode)
    : hash_(hash),
      place_(std::move(place)),
      element_bytes_(element_bytes),
      decode_(decode),
      order_(Later{&cursors_}) {
  cursors_.reserve(parts.size());
  for (SharePart& each : parts) {
    Cursor cursor;
    cursor.at = each.part.start;
    cursor.left = each.part.elements();
    cursor.contiguous = is_contiguous_in(each.record.box, each.part);
    cursor.share = std::move(each);
    cursors_.push_back(std::move(cursor));
  }
  for (std::size_t i = 0; i < cursors_.size(); ++i)
    if (cursors_[i].left != 0) order_.push(i);
}

std::string RankShare::where(const Record& record) const {
  return fmt::format("'{}': record of dataset {} at byte {} ({} bytes, stream of writer {})",
                     place_.file->path(), record.dataset, place_.address(record.where.offset),
                     record.stored_bytes, place_.writer);
}

Status RankShare::check(const Record& record, const Hash128& found) const {
  if (record.hash == Hash128{} || found == record.hash) return {};
  return fail(Code::kCorrupt, where(record) + " does not match its checksum");
}

// Does all that is left of one part come before the first element that is left of another?
bool RankShare::ends_before(const Cursor& cursor, const Cursor& other) const {
  Dims last = cursor.share.part.start;
  for (unsigned d = 0; d < last.rank(); ++d) last[d] += cursor.share.part.count[d] - 1;
  return compare(last, other.at) < 0;
}

// Of a part that is one run of its record and lies before all others, everything; else one row.
Status RankShare::next_run() {
  if (order_.empty()) return fail(Code::kInternal, "export: more bytes wanted than there are");
  current_ = order_.top();
  order_.pop();
  Cursor& cursor = cursors_[current_];
  const Record& record = cursor.share.record;
  const Box& part = cursor.share.part;
  const unsigned rank = part.rank();
  const Box from{cursor.at, Dims(rank, 1)};
  run_from_ = row_major_offset(record.box, from) * element_bytes_;
  const bool all =
      cursor.contiguous && (order_.empty() || ends_before(cursor, cursors_[order_.top()]));
  const std::uint64_t elements = all ? cursor.left : row_elements(part);
  run_left_ = elements * element_bytes_;
  cursor.left -= elements;
  hasher_.reset();
  if (record.encoding == Encoding::kPlain && run_left_ == record.stored_bytes)
    hasher_.emplace(hash_);
  else
    BENTO_TRY(open(cursor));
  if (cursor.left == 0) return {};
  for (unsigned d = rank - 1; d-- > 0;) {
    if (++cursor.at[d] < part.start[d] + part.count[d]) break;
    cursor.at[d] = part.start[d];
  }
  order_.push(current_);
  return {};
}

Status RankShare::open(Cursor& cursor) {
  if (cursor.opened) return {};
  cursor.opened = true;
  const Record& record = cursor.share.record;
  if (record.encoding != Encoding::kPlain) {
    std::vector<std::byte> stored(static_cast<std::size_t>(record.stored_bytes));
    BENTO_TRY(place_.file->read_at(place_.address(record.where.offset), stored));
    BENTO_TRY(check(record, fti::chunk_hash(hash_, stored)));
    auto decoded = decode_(record, std::move(stored));
    if (!decoded) return fail(std::move(decoded).error().with_context(where(record)));
    const std::uint64_t wanted = record.box.elements() * element_bytes_;
    if (decoded->size() != wanted)
      return fail(Code::kCorrupt, fmt::format("{}: {} bytes behind the filters, want {}",
                                              where(record), decoded->size(), wanted));
    cursor.held = std::move(*decoded);
    return {};
  }
  if (record.hash == Hash128{} || !verified_.insert(record.where).second) return {};
  fti::ChunkHasher hasher(hash_);
  std::vector<std::byte> piece;
  for (std::uint64_t done = 0; done < record.stored_bytes; done += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min(kPieceBytes, record.stored_bytes - done)));
    BENTO_TRY(place_.file->read_at(place_.address(record.where.offset) + done, piece));
    hasher.update(piece);
  }
  return check(record, hasher.digest());
}

Status RankShare::fetch(Cursor& cursor, std::uint64_t from, std::span<std::byte> into) {
  const Record& record = cursor.share.record;
  const bool plain = record.encoding == Encoding::kPlain;
  if (plain && into.size() >= kAheadBytes)
    return place_.file->read_at(place_.address(record.where.offset) + from, into);
  if (plain && (from < cursor.held_from || into.size() > cursor.held.size() ||
                from - cursor.held_from > cursor.held.size() - into.size())) {
    cursor.held.resize(static_cast<std::size_t>(std::min(kAheadBytes, record.stored_bytes - from)));
    cursor.held_from = from;
    BENTO_TRY(place_.file->read_at(place_.address(record.where.offset) + from, cursor.held));
  }
  std::copy_n(cursor.held.begin() + static_cast<std::ptrdiff_t>(from - cursor.held_from),
              into.size(), into.begin());
  return {};
}

Status RankShare::read(std::span<std::byte> into) {
  while (!into.empty()) {
    if (run_left_ == 0) BENTO_TRY(next_run());
    Cursor& cursor = cursors_[current_];
    const auto here =
        into.first(static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), run_left_)));
    if (hasher_) {
      BENTO_TRY(
          place_.file->read_at(place_.address(cursor.share.record.where.offset) + run_from_, here));
      hasher_->update(here);
    } else {
      BENTO_TRY(fetch(cursor, run_from_, here));
    }
    run_from_ += here.size();
    run_left_ -= here.size();
    into = into.subspan(here.size());
    if (run_left_ != 0) continue;
    if (hasher_) BENTO_TRY(check(cursor.share.record, hasher_->digest()));
    if (cursor.left == 0) cursor.held = {};
  }
  return {};
}

}  // namespace bento
