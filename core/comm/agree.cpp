// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/comm/agree.hpp"

#include <fmt/format.h>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/comm/status_message.hpp"

namespace bento {
namespace {

constexpr std::int32_t kNobody = -1;

/// Rank 0's part: the lowest rank that reports an error, and that error. `last` is done if there is
/// none.
ByteWriter pick_outcome(const std::vector<Bytes>& reports, const std::function<Status()>& last) {
  ByteWriter outcome;
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    ByteReader report(reports[rank], std::endian::little, "status of a rank");
    const Status status = get_status(report);
    if (status) continue;
    outcome.i32(static_cast<std::int32_t>(rank));
    put_status(outcome, status);
    return outcome;
  }
  Status left = last ? last() : Status{};
  outcome.i32(left ? kNobody : 0);
  if (!left) put_status(outcome, left);
  return outcome;
}

}  // namespace

Status agree(Communicator& ranks, const Status& mine) {
  return agree_then(ranks, mine, {});
}

Status agree_then(Communicator& ranks, const Status& mine, const std::function<Status()>& last) {
  ByteWriter report;
  put_status(report, mine);
  BENTO_ASSIGN(const std::vector<Bytes> reports, ranks.gather(report.view()));
  ByteWriter picked;
  if (ranks.rank() == 0) picked = pick_outcome(reports, last);
  BENTO_ASSIGN(const Bytes outcome, ranks.broadcast(picked.view()));

  ByteReader in(outcome, std::endian::little, "agreed status");
  BENTO_ASSIGN(const std::int32_t failed, in.i32());
  if (failed == kNobody) return {};
  Status theirs = get_status(in);
  if (theirs) return fail(Code::kInternal, fmt::format("rank {} failed without an error", failed));
  if (failed == ranks.rank()) return mine ? theirs : mine;
  return fail(std::move(theirs).error().with_context(fmt::format("rank {}", failed)));
}

}  // namespace bento
