// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Exchange: all ranks learn of each other's uncommitted records.
/// Source of the order of writes: docs/format.md, "Order of writes in a commit".
#include <algorithm>

#include <fmt/format.h>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/comm/status_message.hpp"
#include "core/container/container.hpp"
#include "core/records/box_tree.hpp"
#include "core/steps/segment_codec.hpp"

namespace bento {

namespace {

/// Records of one dataset.
struct Written {
  unsigned rank = 0;
  std::vector<std::uint64_t> corners;
  std::vector<Order> orders;
};

/// Do records of different ranks hold the same elements at the same collective count? May say so
/// where it would take too long to find out.
bool ranks_overlap(const Written& records) {
  constexpr std::size_t kMostPairs = 1u << 20;
  if (records.rank == 0) return false;  // a scalar's records do not grow
  BoxTree tree;
  tree.build(records.corners, records.rank, records.orders.size());
  std::size_t pairs = 0;
  return !tree.for_each_overlap(records.corners, [&](std::size_t a, std::size_t b) {
    const Order& one = records.orders[a];
    const Order& two = records.orders[b];
    return ++pairs < kMostPairs && (one.rank == two.rank || one.collective != two.collective);
  });
}

struct Gathered {
  Segment merged;
  bool rewritten = false;         ///< some record in its place, since the last commit or exchange
  std::set<DatasetNumber> grown;  ///< by records that others overlap
};

Result<Gathered> merge_parts(const std::vector<Bytes>& parts) {
  Gathered all;
  Status failed;
  for (std::size_t rank = 0; rank < parts.size() && failed; ++rank) {
    ByteReader in(parts[rank], std::endian::little, "exchange message");
    Status status = get_status(in);
    if (!status) {
      failed = fail(std::move(status).error().with_context(fmt::format("rank {}", rank)));
      break;
    }
    BENTO_ASSIGN(const std::uint8_t rewritten, in.u8());
    all.rewritten = all.rewritten || rewritten != 0;
    BENTO_ASSIGN(const auto grown, get_datasets(in));
    all.grown.insert(grown.begin(), grown.end());
    BENTO_ASSIGN(auto part,
                 decode_entries(std::span<const std::byte>(parts[rank]).subspan(in.offset())));
    all.merged.records.insert(all.merged.records.end(), part.records.begin(), part.records.end());
  }
  BENTO_TRY(std::move(failed));
  std::map<DatasetNumber, Written> written;
  for (const auto& record : all.merged.records) {
    if (!all.grown.contains(record.dataset)) continue;
    Written& here = written[record.dataset];
    here.rank = record.box.rank();
    append_corners(here.corners, record.box);
    here.orders.push_back(record.order);
  }
  std::erase_if(all.grown, [&](DatasetNumber dataset) { return !ranks_overlap(written[dataset]); });
  return all;
}

}  // namespace

Result<Bytes> Container::exchange_part(const Status& mine) const {
  ByteWriter own;
  put_status(own, mine);
  Segment entries;
  std::set<DatasetNumber> grown;
  if (mine)
    for (const auto& slot : stream_.untold()) {
      entries.records.push_back(state_.index.record(slot.dataset, slot.position));
      if (stream_.times_of(slot) != nullptr) grown.insert(slot.dataset);
    }
  own.u8(stream_.rewrote() ? 1 : 0);
  put_datasets(own, grown);
  own.bytes(encode_entries(entries));
  return std::move(own).take();
}

// The second round, where ranks have written the same elements.
Result<Container::TimesByPlace> Container::exchange_times(const std::set<DatasetNumber>& datasets) {
  TimesByPlace all;
  if (datasets.empty()) return all;
  ByteWriter own;
  for (const auto& slot : stream_.untold()) {
    const WriteTimes* const times = stream_.times_of(slot);
    if (times == nullptr || !datasets.contains(slot.dataset)) continue;
    const Location where = state_.index.where(slot.dataset, slot.position);
    own.varint(where.task);
    own.varint(where.offset);
    times->encode(own);
  }
  BENTO_ASSIGN(const auto gathered, comm_->gather(own.view()));
  ByteWriter out;
  for (const auto& part : gathered) out.bytes(part);
  BENTO_ASSIGN(const Bytes blob, comm_->broadcast(out.view()));
  ByteReader in(blob, std::endian::little, "exchange message");
  while (in.remaining() != 0) {
    BENTO_ASSIGN(const std::uint64_t task, in.varint());
    BENTO_ASSIGN(const std::uint64_t offset, in.varint());
    const Location where{static_cast<std::uint32_t>(task), offset};
    BENTO_ASSIGN(all[where], WriteTimes::decode(in));
  }
  return all;
}

Status Container::exchange() {
  if (comm_->size() == 1) return {};
  BENTO_TRY(check_home());
  Status mine;
  if (state_.writable) {
    if (!layout_fixed_) mine = fix_layout(0);
    if (mine && stream_.has_buffered()) mine = attach();
    if (mine && stream_.attached()) mine = stream_.flush();
    if (mine) mine = fill_gaps(stream_.datasets_with_gaps());
    if (!mine) failures_.defer(mine);
  }
  BENTO_ASSIGN(const Bytes own, exchange_part(mine));
  BENTO_ASSIGN(const auto gathered, comm_->gather(own));
  ByteWriter out;
  if (comm_->rank() == 0) {
    const auto all = merge_parts(gathered);
    put_status(out, all ? Status{} : Status(fail(Error(all.error()))));
    if (all) {
      out.u8(all->rewritten ? 1 : 0);
      put_datasets(out, all->grown);
      out.bytes(encode_entries(all->merged));
    }
  }
  BENTO_ASSIGN(const Bytes blob, comm_->broadcast(out.view()));
  ByteReader in(blob, std::endian::little, "exchange message");
  BENTO_TRY(get_status(in));
  if (boards_) boards_->next_epoch();  // on all ranks or none, whatever comes now
  // What the logs say of this is gone with their epoch.
  BENTO_ASSIGN(const std::uint8_t rewritten, in.u8());
  if (rewritten != 0) reader_.invalidate();
  BENTO_ASSIGN(const auto grown, get_datasets(in));
  BENTO_ASSIGN(const auto times, exchange_times(grown));
  ++exchanges_;
  // What comes now is later than what all ranks see, whatever their clocks say.
  count_meeting();
  BENTO_ASSIGN(const Segment merged,
               decode_entries(std::span<const std::byte>(blob).subspan(in.offset())));
  BENTO_TRY(add_others(merged, times));
  for (const auto& record : merged.records) {
    auto& until = known_until_ns_[record.order.rank];
    until = std::max(until, record.order.time_ns);
  }
  stream_.mark_told();
  return {};
}

// The metadata of this session was replayed here already, and so were this rank's own records and
// those that an earlier exchange brought. A record that grew is as late as its first part; the
// others are later, also for the rank that wrote them.
Status Container::add_others(const Segment& segment, const TimesByPlace& grown) {
  const std::uint32_t me = my_rank();
  const auto add_part = [this](const Record& part, const Box& box) -> Status {
    BENTO_TRY(state_.index.add_part(part, box));
    return {};
  };
  for (const auto& record : segment.records) {
    if (state_.index.find(record.dataset) == nullptr) continue;
    const auto known = known_until_ns_.find(record.order.rank);
    if (known != known_until_ns_.end() && record.order.time_ns <= known->second) continue;
    if (record.order.rank != me) BENTO_TRY(state_.index.add(record));
    const auto times = grown.find(record.where);
    if (times == grown.end()) continue;
    Record part = record;
    BENTO_TRY(for_each_later_part(record.box, times->second,
                                  [&](const Box& box, std::uint64_t, std::uint64_t time_ns) {
                                    part.order.time_ns = time_ns;
                                    return add_part(part, box);
                                  }));
  }
  return {};
}

}  // namespace bento
