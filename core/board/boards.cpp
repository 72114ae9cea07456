// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/board/boards.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/comm/agree.hpp"
#include "core/io/descriptor_passing.hpp"
#include "core/io/host.hpp"

namespace bento {

namespace {

/// Ranks of one node come at the same time, and what they wait for costs microseconds.
constexpr auto kHandOver = std::chrono::seconds(5);

NodeHead& node_of(std::byte* heads) {
  return *reinterpret_cast<NodeHead*>(heads);
}
std::span<RankHead> heads_of(std::byte* heads, std::size_t ranks) {
  return {reinterpret_cast<RankHead*>(heads + sizeof(NodeHead)), ranks};
}

Result<MeetingPlace> agree_on_meeting(Communicator& ranks) {
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
  return meeting;
}

Result<PrivateDescriptor> memory_of_node(const MeetingPlace& place, bool leader,
                                         std::size_t ranks) {
  const auto until = std::chrono::steady_clock::now() + kHandOver;
  if (!leader) return take_descriptor(place, until);
  auto giver = DescriptorGiver::open(place);
  auto memory = make_shared_memory(board_bytes(static_cast<std::uint32_t>(ranks)));
  const int takers = static_cast<int>(ranks) - 1;
  const int came = giver ? giver->give(memory ? memory->get() : -1, takers, until) : 0;
  if (!giver) return fail(std::move(giver).error());
  if (memory && came != takers)
    return fail(Code::kPeer,
                fmt::format("{} of {} ranks came for the shared memory", came, takers));
  return memory;
}

}  // namespace

Boards::Boards(PrivateDescriptor memory, SharedWindow heads,
               const std::vector<std::uint32_t>& ranks, std::uint32_t mine,
               OtherRecords::Metadata metadata)
    : memory_(std::move(memory)),
      heads_(std::move(heads)),
      mine_(memory_.get(), mine, node_of(heads_.data()), heads_of(heads_.data(), ranks.size())),
      others_(memory_.get(), node_of(heads_.data()), heads_of(heads_.data(), ranks.size()), ranks,
              mine, std::move(metadata)) {}

NodeLock& Boards::lock() {
  return node_of(heads_.data()).lock;
}

Result<Boards::Opened> Boards::open(Communicator& ranks, const RankGroups& nodes,
                                    OtherRecords::Metadata metadata) {
  Opened opened;
  if (nodes.count() > 1) {
    opened.why = fmt::format("the ranks are on {} nodes", nodes.count());
    return opened;
  }
  BENTO_ASSIGN(const MeetingPlace meeting, agree_on_meeting(ranks));
  const auto mine = static_cast<std::uint32_t>(ranks.rank());
  std::vector<std::uint32_t> here(static_cast<std::size_t>(ranks.size()));
  for (std::uint32_t rank = 0; rank < here.size(); ++rank) here[rank] = rank;

  auto memory = memory_of_node(meeting, mine == 0, here.size());
  std::optional<SharedWindow> heads;
  Status ready = memory ? Status{} : Status(fail(Code::kUnsupported, memory.error().text));
  if (ready) {
    const std::uint64_t bytes = head_bytes(static_cast<std::uint32_t>(here.size()));
    heads.emplace(memory->get(), 0, kRankBoardBytes, true);
    ready = heads->reach(bytes);
    if (ready && mine == 0) ready = node_of(heads->data()).lock.make();
    if (!ready) ready = fail(Code::kUnsupported, ready.error().text);
  }
  ready = agree(ranks, ready);
  if (!ready && ready.error().code != Code::kUnsupported) return fail(std::move(ready).error());
  if (!ready) {
    opened.why = ready.error().text;
    return opened;
  }
  opened.boards.reset(
      new Boards(std::move(*memory), std::move(*heads), here, mine, std::move(metadata)));
  return opened;
}

}  // namespace bento
