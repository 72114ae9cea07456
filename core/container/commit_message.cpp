// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/commit_message.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/comm/status_message.hpp"
#include "core/steps/contribution.hpp"

namespace bento {

void put_datasets(ByteWriter& out, const std::set<DatasetNumber>& datasets) {
  out.varint(datasets.size());
  for (const DatasetNumber dataset : datasets) out.varint(dataset);
}

Result<std::set<DatasetNumber>> get_datasets(ByteReader& in) {
  std::set<DatasetNumber> datasets;
  BENTO_ASSIGN(const std::uint64_t count, in.varint());
  BENTO_TRY(in.fits(count, 1));
  for (std::uint64_t i = 0; i < count; ++i) {
    BENTO_ASSIGN(const std::uint64_t dataset, in.varint());
    if (dataset >> 32 != 0)
      return fail(Code::kCorrupt, fmt::format("a message between ranks: dataset {}", dataset));
    datasets.insert(static_cast<DatasetNumber>(dataset));
  }
  return datasets;
}

namespace {

Result<std::vector<ClockRun>> get_clocks(ByteReader& in) {
  BENTO_ASSIGN(const std::uint64_t count, in.varint());
  BENTO_TRY(in.fits(count, 4));
  std::vector<ClockRun> clocks(static_cast<std::size_t>(count));
  for (auto& run : clocks) {
    for (std::uint32_t* const number : {&run.first_rank, &run.ranks, &run.node}) {
      BENTO_ASSIGN(const std::uint64_t value, in.varint());
      if (value >> 32 != 0) return fail(Code::kCorrupt, "commit message: impossible ranks");
      *number = static_cast<std::uint32_t>(value);
    }
    BENTO_ASSIGN(run.doubt_ns, in.varint());
  }
  return clocks;
}

}  // namespace

Bytes encode(const CommitMessage& message) {
  ByteWriter out;
  put_status(out, message.status);
  out.u32(message.first_rank);
  out.u64(message.collective);
  out.u64(message.operation_hash);
  out.u8(message.differs ? 1 : 0);
  if (message.differs) out.u32(*message.differs);
  out.varint(message.new_bytes);
  out.varint(message.fills.size());
  for (const auto& run : message.fills) {
    out.varint(run.writer);
    out.varint(run.count);
    out.varint(run.fill.size());
    for (const auto used : run.fill) out.varint(used);
  }
  put_datasets(out, message.partial);
  put_datasets(out, message.gapped);
  out.varint(message.member_writes.size());
  out.bytes(message.member_writes);
  out.varint(message.clocks.size());
  for (const auto& run : message.clocks) {
    out.varint(run.first_rank);
    out.varint(run.ranks);
    out.varint(run.node);
    out.varint(run.doubt_ns);
  }
  out.u8(message.unreachable ? 1 : 0);
  if (message.unreachable) put_datasets(out, *message.unreachable);
  out.bytes(message.entries);
  return std::move(out).take();
}

Result<CommitMessage> decode_commit_message(std::span<const std::byte> bytes) {
  CommitMessage message;
  ByteReader in(bytes, std::endian::little, "commit message");
  message.status = get_status(in);
  BENTO_ASSIGN(message.first_rank, in.u32());
  BENTO_ASSIGN(message.collective, in.u64());
  BENTO_ASSIGN(message.operation_hash, in.u64());
  BENTO_ASSIGN(const std::uint8_t differs, in.u8());
  if (differs != 0) {
    BENTO_ASSIGN(message.differs, in.u32());
  }
  BENTO_ASSIGN(message.new_bytes, in.varint());
  BENTO_ASSIGN(const std::uint64_t runs, in.varint());
  BENTO_TRY(in.fits(runs, 3));
  message.fills.resize(static_cast<std::size_t>(runs));
  for (auto& run : message.fills) {
    BENTO_ASSIGN(const std::uint64_t writer, in.varint());
    BENTO_ASSIGN(const std::uint64_t count, in.varint());
    BENTO_ASSIGN(const std::uint64_t blocks, in.varint());
    if (writer > kMaxWriters || count > kMaxWriters)
      return fail(Code::kCorrupt, "commit message: impossible writers");
    BENTO_TRY(in.fits(blocks, 1));
    run.writer = static_cast<std::uint32_t>(writer);
    run.count = static_cast<std::uint32_t>(count);
    run.fill.resize(static_cast<std::size_t>(blocks));
    for (auto& used : run.fill) {
      BENTO_ASSIGN(used, in.varint());
    }
  }
  BENTO_ASSIGN(message.partial, get_datasets(in));
  BENTO_ASSIGN(message.gapped, get_datasets(in));
  BENTO_ASSIGN(const std::uint64_t writes, in.varint());
  BENTO_ASSIGN(const auto member_writes, in.bytes(writes));
  message.member_writes.assign(member_writes.begin(), member_writes.end());
  BENTO_ASSIGN(message.clocks, get_clocks(in));
  BENTO_ASSIGN(const std::uint8_t looked, in.u8());
  if (looked != 0) {
    BENTO_ASSIGN(message.unreachable, get_datasets(in));
  }
  BENTO_ASSIGN(const auto entries, in.bytes(in.remaining()));
  message.entries.assign(entries.begin(), entries.end());
  return message;
}

namespace {

void merge_fills(std::vector<FillRun>& into, std::vector<FillRun> more) {
  into.insert(into.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
  std::sort(into.begin(), into.end(),
            [](const FillRun& a, const FillRun& b) { return a.writer < b.writer; });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < into.size(); ++i) {
    FillRun& last = into[kept];
    if (last.writer + last.count == into[i].writer && last.fill == into[i].fill)
      last.count += into[i].count;
    else if (++kept != i)
      into[kept] = std::move(into[i]);
  }
  if (!into.empty()) into.resize(kept + 1);
}

void merge_clocks(std::vector<ClockRun>& into, const std::vector<ClockRun>& more) {
  for (const ClockRun& run : more) {
    const bool same = !into.empty() && into.back().node == run.node &&
                      into.back().doubt_ns == run.doubt_ns &&
                      into.back().first_rank + into.back().ranks == run.first_rank;
    if (same)
      into.back().ranks += run.ranks;
    else
      into.push_back(run);
  }
}

Result<CommitMessage> merge(std::span<const std::byte> lower, std::span<const std::byte> higher) {
  BENTO_ASSIGN(CommitMessage left, decode_commit_message(lower));
  BENTO_ASSIGN(CommitMessage right, decode_commit_message(higher));
  if (left.status && !right.status) left.status = std::move(right.status);
  if (!left.differs) {
    if (left.collective != right.collective || left.operation_hash != right.operation_hash)
      left.differs = right.first_rank;
    else
      left.differs = right.differs;
  }
  merge_fills(left.fills, std::move(right.fills));
  left.new_bytes += right.new_bytes;
  merge_clocks(left.clocks, right.clocks);
  left.partial.merge(right.partial);
  left.gapped.merge(right.gapped);
  left.member_writes.insert(left.member_writes.end(), right.member_writes.begin(),
                            right.member_writes.end());
  if (!right.unreachable) left.unreachable.reset();
  if (left.unreachable)
    std::erase_if(*left.unreachable,
                  [&](DatasetNumber dataset) { return !right.unreachable->contains(dataset); });
  if (left.differs || !left.status) return left;  // nobody will look at the entries
  if (left.entries.empty()) {
    left.entries = std::move(right.entries);
  } else if (!right.entries.empty()) {
    BENTO_ASSIGN(left.entries, merge_contributions(left.entries, right.entries));
  }
  return left;
}

}  // namespace

Bytes merge_commit_messages(std::span<const std::byte> lower, std::span<const std::byte> higher) {
  auto merged = merge(lower, higher);
  if (merged) return encode(*merged);
  CommitMessage failed;
  failed.status = fail(std::move(merged).error().with_context("merging what ranks commit"));
  return encode(failed);
}

}  // namespace bento
