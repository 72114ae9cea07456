// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/board/boards.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "core/board/remote_probe.hpp"
#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/comm/agree.hpp"
#include "core/io/host.hpp"

namespace bento {

namespace {

/// Ranks of one node come at the same time, and what they wait for costs microseconds.
constexpr auto kHandOver = std::chrono::seconds(5);

// Each node has a place of its own: several that are pretended to be on one machine would meet.
Result<MeetingPlace> agree_on_meeting(Communicator& ranks, std::uint32_t node) {
  ByteWriter out;
  if (ranks.rank() == 0) {
    out.bytes(random_id());
    out.bytes(random_id());
  }
  BENTO_ASSIGN(const Bytes blob, ranks.broadcast(out.view()));
  ByteReader in(blob, std::endian::little, "message of rank 0");
  MeetingPlace meeting;
  const auto copy = [&in](auto& to) -> Status {
    BENTO_ASSIGN(const auto view, in.bytes(to.size()));
    std::copy(view.begin(), view.end(), to.begin());
    return {};
  };
  BENTO_TRY(copy(meeting.name));
  BENTO_TRY(copy(meeting.token));
  meeting.number = static_cast<int>(node);
  return meeting;
}

Result<PrivateDescriptor> memory_of_node(const MeetingPlace& place, bool leader,
                                         std::size_t ranks) {
  const auto until = std::chrono::steady_clock::now() + kHandOver;
  if (!leader) return take_descriptor(place, until);
  if (ranks == 1) return make_shared_memory(board_bytes(1));
  auto giver = DescriptorGiver::open(place);
  auto memory = make_shared_memory(board_bytes(static_cast<std::uint32_t>(ranks)));
  const int takers = static_cast<int>(ranks) - 1;
  const int came = giver ? giver->give(memory ? memory->get() : -1, takers, until) : 0;
  if (!giver) return fail(std::move(giver).error());
  if (memory && came != takers)
    return fail(
        Code::kPeer,
        fmt::format("{} of the {} other ranks of this node have taken the memory that all of "
                    "them share: the others have died, or have no file descriptor left",
                    came, takers));
  return memory;
}

// What is missing is so for all ranks, and a reason to do without.
Status as_unsupported(Status status) {
  if (status || status.error().code == Code::kPeer) return status;
  return fail(Code::kUnsupported, status.error().text);
}

}  // namespace

NodeHead& Boards::node() const {
  return *reinterpret_cast<NodeHead*>(parts_.heads->data());
}

std::span<RankHead> Boards::rank_heads() const {
  return {reinterpret_cast<RankHead*>(parts_.heads->data() + rank_heads_offset()),
          parts_.here.size()};
}

std::span<LogWord> Boards::words() const {
  const std::size_t count = parts_.here.size();
  std::byte* const words = parts_.heads->data() + words_offset(static_cast<std::uint32_t>(count));
  return {reinterpret_cast<LogWord*>(words), count};
}

std::span<NodeEntry> Boards::table() const {
  const auto count = static_cast<std::uint32_t>(parts_.here.size());
  std::byte* const entries = parts_.heads->data() + table_offset(count);
  return {reinterpret_cast<NodeEntry*>(entries), parts_.table};
}

std::uint64_t Boards::own_head_bytes() const {
  return head_bytes(static_cast<std::uint32_t>(parts_.here.size()), parts_.table);
}

Result<std::uint64_t> Boards::latest_time() {
  return table_ == nullptr ? Result<std::uint64_t>(std::uint64_t{0}) : table_->latest_time();
}

Status Boards::show() {
  return table_ == nullptr ? Status{} : table_->show();
}

NodeLock& Boards::lock() {
  return node().lock;
}

Status Boards::share_memory(Parts& parts, const MeetingPlace& meeting) {
  const auto count = static_cast<std::uint32_t>(parts.here.size());
  auto memory = memory_of_node(meeting, parts.mine == 0, count);
  if (!memory) return fail(Code::kUnsupported, memory.error().text);
  parts.memory = std::move(*memory);
  parts.heads = std::make_unique<SharedWindow>(parts.memory->get(), 0, kRankBoardBytes, true);
  BENTO_TRY(parts.heads->reach(head_bytes(count, parts.table)));
  if (parts.mine != 0) return {};
  auto* const node = reinterpret_cast<NodeHead*>(parts.heads->data());
  BENTO_TRY(node->lock.make());
  return node->table_lock.make();
}

Result<Boards::Opened> Boards::open(Communicator& ranks, const RankGroups& nodes, double timeout_s,
                                    OtherRecords::Metadata metadata) {
  const auto mine = static_cast<std::uint32_t>(ranks.rank());
  const std::vector<std::uint32_t> groups = nodes.groups();
  BENTO_ASSIGN(const MeetingPlace meeting, agree_on_meeting(ranks, groups[mine]));
  Parts parts;
  parts.node = groups[mine];
  if (parts.node == 0 && nodes.count() > 1) parts.table = nodes.count();
  for (std::uint32_t rank = 0; rank < groups.size(); ++rank) {
    if (rank == mine) parts.mine = static_cast<std::uint32_t>(parts.here.size());
    if (groups[rank] == groups[mine]) parts.here.push_back(rank);
  }
  Status ready = agree(ranks, as_unsupported(share_memory(parts, meeting)));
  std::unique_ptr<Boards> boards(new Boards(std::move(parts)));
  if (ready) {
    const Parts& own = boards->parts_;
    boards->mine_.emplace(own.memory->get(), own.mine, boards->node(), boards->rank_heads());
    if (nodes.count() > 1) ready = boards->reach_others(ranks, nodes, timeout_s);
  }
  if (!ready && ready.error().code != Code::kUnsupported) return fail(std::move(ready).error());
  Opened opened;
  if (!ready) {
    opened.why = ready.error().text;
    return opened;
  }
  const Parts& own = boards->parts_;
  boards->others_.emplace(own.memory->get(), boards->node(), boards->rank_heads(), own.here,
                          own.mine, boards->remote_.get(), std::move(metadata));
  opened.boards = std::move(boards);
  return opened;
}

// Collective. What was opened on all ranks is closed on all again if it is of no use.
Status Boards::reach_others(Communicator& ranks, const RankGroups& nodes, double timeout_s) {
  auto memory = ranks.open_remote_memory();
  if (memory) parts_.remote = std::move(*memory);
  BENTO_TRY(agree(ranks, memory ? Status{} : as_unsupported(fail(std::move(memory).error()))));
  const auto reach = [&]() -> Status {
    BENTO_TRY(agree(ranks, as_unsupported(expose())));
    BENTO_ASSIGN(auto addresses, exchange_addresses(ranks));
    const std::vector<std::uint32_t> groups = nodes.groups();
    NodeTable::Place place;
    place.address = addresses[0].heads +
                    table_offset(static_cast<std::uint32_t>(std::ranges::count(groups, 0U)));
    place.here = table();
    place.nodes = nodes.count();
    place.mine = parts_.node;
    place.timeout_s = timeout_s;
    table_ = std::make_unique<NodeTable>(*parts_.remote, node(), place);
    RestProbe probe;
    probe.table = table_.get();
    for (std::uint32_t node = 0; node < nodes.count(); ++node) {
      const std::uint32_t leader = nodes.leader_of(node);
      probe.nodes.push_back({leader, addresses[leader].heads + offsetof(NodeHead, at_rest)});
    }
    if (leads()) probe.at_rest = &node().at_rest;
    Status before = agree(ranks, ranks.reaches_at_rest(nodes.identity())
                                     ? Status{}
                                     : fail(Code::kUnsupported, "not tried yet"));
    if (!before && before.error().code != Code::kUnsupported) return before;
    if (!before) BENTO_TRY(probe_at_rest(ranks, *parts_.remote, probe));
    ranks.note_reaches_at_rest(nodes.identity());
    remote_ = std::make_unique<RemoteNodes>(*parts_.remote, *table_, nodes,
                                            static_cast<std::uint32_t>(ranks.rank()),
                                            std::move(addresses));
    return {};
  };
  Status reached = reach();
  if (!reached && reached.error().code == Code::kUnsupported) BENTO_TRY(close(ranks));
  return reached;
}

Status Boards::expose() {
  BENTO_TRY(mine_->expose(*parts_.remote, words()[parts_.mine]));
  return leads() ? parts_.remote->expose(parts_.heads->data(), own_head_bytes()) : Status{};
}

Result<std::vector<RemoteNodes::Addresses>> Boards::exchange_addresses(Communicator& ranks) {
  ByteWriter own;
  own.u64(reinterpret_cast<std::uintptr_t>(parts_.heads->data()));
  for (const std::uint64_t part : mine_->addresses()) own.u64(part);
  BENTO_ASSIGN(const auto gathered, ranks.gather(own.view()));
  ByteWriter out;
  for (const Bytes& one : gathered) out.bytes(one);
  BENTO_ASSIGN(const Bytes blob, ranks.broadcast(out.view()));
  ByteReader in(blob, std::endian::little, "addresses of boards");
  std::vector<RemoteNodes::Addresses> all(static_cast<std::size_t>(ranks.size()));
  for (RemoteNodes::Addresses& one : all) {
    BENTO_ASSIGN(one.heads, in.u64());
    for (std::uint64_t& part : one.parts) {
      BENTO_ASSIGN(part, in.u64());
    }
  }
  return all;
}

Status Boards::close(Communicator& ranks) {
  if (parts_.remote == nullptr) return {};
  BENTO_TRY(agree(ranks, parts_.remote->settled()));
  parts_.remote->close();
  parts_.remote.reset();
  return {};
}

Boards::~Boards() {
  if (parts_.remote == nullptr) return;
  if (mine_) mine_->leave();
  parts_.heads->leave();
}

}  // namespace bento
