// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/run_head.hpp"

#include <algorithm>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/zigzag.hpp"
#include "core/steps/contribution.hpp"
#include "core/steps/record_run.hpp"

namespace bento {

Status RunHead::read(std::span<const std::byte> bytes, unsigned width) {
  ByteReader in(bytes, std::endian::little, "index run");
  for (unsigned f = 0; f < width; ++f) row[f] = unzigzag(in.next_varint());
  if (!in.is_settled()) return in.settled();
  first = bytes.first(in.offset());
  rest = bytes.subspan(in.offset());
  return {};
}

bool RunJoiner::as_before(unsigned width) const {
  if (width != width_ || !std::ranges::equal(left_.rest, left_rest_) ||
      !std::ranges::equal(right_.rest, right_rest_))
    return false;
  for (unsigned f = 0; f < width; ++f)
    if (right_.row[f] - left_.row[f] != between_[f]) return false;
  return true;
}

Result<bool> RunJoiner::join(std::span<const std::byte> left, std::span<const std::byte> right,
                             unsigned width, ByteWriter& joined) {
  BENTO_TRY(left_.read(left, width));
  BENTO_TRY(right_.read(right, width));
  if (!as_before(width)) return join_anew(left, right, width, joined);
  if (joins_) {
    joined.bytes(left_.first);
    joined.bytes(joined_rest_);
  }
  return joins_;
}

Result<bool> RunJoiner::join_anew(std::span<const std::byte> left, std::span<const std::byte> right,
                                  unsigned width, ByteWriter& joined) {
  width_ = 0;
  BENTO_ASSIGN(RecordRun both, RecordRun::decode(left, width));
  BENTO_ASSIGN(const RecordRun next, RecordRun::decode(right, width));
  joins_ = both.tokens() + next.tokens() <= kMaxJoinedTokens &&
           both.records() + next.records() <= kMaxRunRecords;
  joined_rest_.clear();
  if (joins_) {
    both.append(next);
    const std::size_t before = joined.size();
    both.encode(joined);
    const auto rest = joined.view().subspan(before + left_.first.size());
    joined_rest_.assign(rest.begin(), rest.end());
  }
  left_rest_.assign(left_.rest.begin(), left_.rest.end());
  right_rest_.assign(right_.rest.begin(), right_.rest.end());
  for (unsigned f = 0; f < width; ++f) between_[f] = right_.row[f] - left_.row[f];
  width_ = width;
  return joins_;
}

Result<bool> RunMemo::same_as_last(std::span<const std::byte> run, const RowShape& shape) {
  BENTO_TRY(head_.read(run, shape.width()));
  for (const Field field : {kFieldCollective, kFieldTime, kFieldPosition, kFieldDistance})
    head_.row[shape.field(field)] = 0;
  const std::span<const std::uint64_t> row(head_.row.data(), shape.width());
  if (any_ && shape == shape_ && std::ranges::equal(row, std::span(row_).first(row.size())) &&
      std::ranges::equal(head_.rest, rest_))
    return true;
  any_ = true;
  shape_ = shape;
  std::ranges::copy(row, row_.begin());
  rest_.assign(head_.rest.begin(), head_.rest.end());
  return false;
}

}  // namespace bento
