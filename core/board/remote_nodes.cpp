// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/board/remote_nodes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>

#include "core/board/segments.hpp"

namespace bento {

namespace {

std::span<std::byte> bytes_of(std::span<std::uint64_t> words) {
  return std::as_writable_bytes(words);
}

}  // namespace

RemoteNodes::RemoteNodes(RemoteMemory& memory, NodeTable& table, const RankGroups& nodes,
                         std::uint32_t mine, std::vector<Addresses> all)
    : memory_(&memory),
      table_(&table),
      addresses_(std::move(all)),
      place_of_(addresses_.size(), 0),
      node_of_(addresses_.size(), 0) {
  const std::vector<std::uint32_t> group_of = nodes.groups();
  const std::uint32_t own = group_of[mine];
  std::vector<std::uint32_t> place_of_node(nodes.count());
  for (std::uint32_t group = 0; group < nodes.count(); ++group) {
    if (group == own) continue;
    place_of_node[group] = static_cast<std::uint32_t>(nodes_.size());
    Node& node = nodes_.emplace_back();
    node.number = group;
    node.leader = nodes.leader_of(group);
    node.heads = addresses_[node.leader].heads;
  }
  for (std::uint32_t rank = 0; rank < addresses_.size(); ++rank) {
    if (group_of[rank] == own) continue;
    node_of_[rank] = place_of_node[group_of[rank]];
    nodes_[node_of_[rank]].ranks.push_back(rank);
  }
  for (Node& node : nodes_) {
    node.first = rank_at_.size();
    for (const std::uint32_t rank : node.ranks) {
      place_of_[rank] = rank_at_.size();
      rank_at_.push_back(rank);
    }
  }
  words_.resize(rank_at_.size());
  noted_.assign(rank_at_.size(), LogHead().word());
  heads_.resize(rank_at_.size() * kHeadWords);
}

bool RemoteNodes::mark_stale(std::span<const NodeTable::Entry> entries) {
  bool any = false;
  for (Node& node : nodes_) {
    node.stale = node.unread != 0 || node.count != entries[node.number].count;
    any = any || node.stale;
  }
  return any;
}

Status RemoteNodes::fetch_words() {
  std::vector<RemotePart> parts;
  for (const Node& node : nodes_) {
    if (!node.stale) continue;
    const std::size_t count = node.ranks.size();
    parts.push_back({node.leader, node.heads + words_offset(static_cast<std::uint32_t>(count)),
                     bytes_of(std::span(words_).subspan(node.first, count))});
  }
  return memory_->fetch(parts);
}

Status RemoteNodes::fetch_heads(bool only_changed) {
  std::vector<RemotePart> parts;
  for (const Node& node : nodes_) {
    if (only_changed && !node.changed) continue;
    parts.push_back({node.leader, node.heads + rank_heads_offset(),
                     bytes_of(std::span(heads_).subspan(node.first * kHeadWords,
                                                        node.ranks.size() * kHeadWords))});
  }
  BENTO_TRY(memory_->fetch(parts));
  for (std::size_t at = 0; at < rank_at_.size() && chunk_bytes_ == 0; ++at)
    chunk_bytes_ = head_word(at, offsetof(RankHead, chunk_bytes));
  return {};
}

bool RemoteNodes::mark_changed() {
  changed_.clear();
  for (Node& node : nodes_) {
    node.changed = false;
    if (!node.stale) continue;
    node.unread = 0;
    for (std::size_t i = 0; i < node.ranks.size(); ++i) {
      if (words_[node.first + i] == noted_[node.first + i]) continue;
      ++node.unread;
      changed_.push_back(node.ranks[i]);
    }
    node.changed = node.unread != 0;
  }
  return !changed_.empty();
}

// A log only grows within an epoch, and its head moves before the word in the table does.
bool RemoteNodes::torn() const {
  return std::ranges::any_of(changed_, [this](std::uint32_t rank) {
    const std::size_t at = place_of_[rank];
    const LogHead before = LogHead::of(words_[at]);
    const LogHead after = LogHead::of(head_word(at, offsetof(RankHead, log)));
    return before.epoch == after.epoch && before.bytes > after.bytes;
  });
}

// What the table counts was in the words before, so these are fetched after it. And the heads are
// fetched after the words that say what is new: whatever a rank had told before it published that,
// such as the layout, is in them.
Result<std::span<const std::uint32_t>> RemoteNodes::look() {
  BENTO_ASSIGN(const auto entries, table_->look());
  changed_.clear();
  if (!mark_stale(entries)) return std::span<const std::uint32_t>();
  do {
    BENTO_TRY(fetch_words());
    if (!mark_changed()) break;
    BENTO_TRY(fetch_heads(true));
  } while (torn());
  for (Node& node : nodes_)
    if (node.stale) node.count = entries[node.number].count;
  return std::span<const std::uint32_t>(changed_);
}

LogHead RemoteNodes::found(std::uint32_t rank) const {
  return LogHead::of(words_[place_of_[rank]]);
}

void RemoteNodes::note(std::uint32_t rank) {
  const std::size_t at = place_of_[rank];
  if (noted_[at] == words_[at]) return;
  noted_[at] = words_[at];
  --nodes_[node_of_[rank]].unread;
}

// A rank that is in that epoch before this one is: its log was looked at, and left.
void RemoteNodes::next_epoch(std::uint32_t epoch) {
  for (Node& node : nodes_) {
    for (std::size_t i = 0; i < node.ranks.size(); ++i) {
      std::uint64_t& noted = noted_[node.first + i];
      if (noted != kUnknown && LogHead::of(noted).epoch != epoch) continue;
      noted = kUnknown;
      node.count = kUnknown;
    }
  }
}

Status RemoteNodes::fetch(std::uint32_t rank, std::uint64_t address, std::uint64_t from,
                          std::uint64_t to) {
  bytes_.resize(static_cast<std::size_t>(to - from));
  std::vector<RemotePart> parts;
  for (std::uint64_t at = from; at < to;) {
    const std::uint64_t end = std::min(to, segment_end(at));
    parts.push_back({rank, address + at,
                     std::span(bytes_).subspan(static_cast<std::size_t>(at - from),
                                               static_cast<std::size_t>(end - at))});
    at = end;
  }
  return memory_->fetch(parts);
}

Result<std::span<const std::byte>> RemoteNodes::log(std::uint32_t rank, std::uint64_t from,
                                                    std::uint64_t to) {
  BENTO_TRY(fetch(rank, addresses_[rank].parts[0], from, to));
  return std::span<const std::byte>(bytes_);
}

// Its generation is fetched when the bytes have come: it grows before they are written over. The
// log says by then where they are, which the table may not show yet.
Result<std::span<const std::byte>> RemoteNodes::area(std::uint32_t rank, const BufferPlace& place,
                                                     std::uint64_t bytes) {
  BENTO_TRY(
      fetch(rank, addresses_[rank].parts[1 + place.area], place.offset, place.offset + bytes));
  Node& node = nodes_[node_of_[rank]];
  std::array<std::uint64_t, 1> now{};
  const std::uint64_t address = node.heads + rank_heads_offset() +
                                (place_of_[rank] - node.first) * sizeof(RankHead) +
                                offsetof(RankHead, generation) + place.area * sizeof(now);
  const RemotePart generation{node.leader, address, bytes_of(now)};
  BENTO_TRY(memory_->fetch({&generation, 1}));
  if (now[0] != place.generation) {
    bytes_.clear();
    node.count = kUnknown;
  }
  return std::span<const std::byte>(bytes_);
}

Result<std::optional<std::uint32_t>> RemoteNodes::behind(std::uint64_t collective, bool written) {
  BENTO_TRY(fetch_heads(false));
  const std::size_t word = written ? offsetof(RankHead, reached) : offsetof(RankHead, collective);
  for (std::size_t at = 0; at < rank_at_.size(); ++at)
    if (head_word(at, word) < collective) return std::optional(rank_at_[at]);
  return std::optional<std::uint32_t>();
}

}  // namespace bento
