// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/comm/agree.hpp"

#include <span>

#include <fmt/format.h>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/comm/status_message.hpp"

namespace bento {
namespace {

constexpr std::int32_t kNobody = -1;

/// Of two ranges of ranks: the lower one's failure goes before that of the higher one.
Bytes lowest_failure(std::span<const std::byte> lower, std::span<const std::byte> higher) {
  ByteReader in(lower, std::endian::little, "status of ranks");
  const auto failed = in.i32();
  const auto first = failed && *failed == kNobody ? higher : lower;
  return {first.begin(), first.end()};
}

/// Rank 0's part: what came up the tree; if that is no failure, `last` is done, and may be one.
Bytes outcome_of(Bytes first, const std::function<Status()>& last) {
  ByteReader in(first, std::endian::little, "status of ranks");
  const auto failed = in.i32();
  if (!last || !failed || *failed != kNobody) return first;
  const Status left = last();
  if (left) return first;
  ByteWriter outcome;
  outcome.i32(0);
  put_status(outcome, left);
  return std::move(outcome).take();
}

}  // namespace

Status agree(Communicator& ranks, const Status& mine) {
  return agree_then(ranks, mine, {});
}

Status agree_then(Communicator& ranks, const Status& mine, const std::function<Status()>& last) {
  ByteWriter report;
  report.i32(mine ? kNobody : ranks.rank());
  put_status(report, mine);
  BENTO_ASSIGN(Bytes first, ranks.combine(report.view(), &lowest_failure));
  if (ranks.rank() == 0) first = outcome_of(std::move(first), last);
  BENTO_ASSIGN(const Bytes outcome, ranks.broadcast(first));

  ByteReader in(outcome, std::endian::little, "agreed status");
  BENTO_ASSIGN(const std::int32_t failed, in.i32());
  if (failed == kNobody) return {};
  Status theirs = get_status(in);
  if (theirs) return fail(Code::kInternal, fmt::format("rank {} failed without an error", failed));
  if (failed == ranks.rank()) return mine ? theirs : mine;
  return fail(std::move(theirs).error().with_context(fmt::format("rank {}", failed)));
}

}  // namespace bento
