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

constexpr std::uint64_t kUnknown = ~std::uint64_t{0};

std::span<std::byte> bytes_of(std::span<std::uint64_t> words) {
  return std::as_writable_bytes(words);
}

}  // namespace

RemoteNodes::RemoteNodes(RemoteMemory& memory, const RankGroups& nodes, std::uint32_t mine,
                         std::vector<Addresses> all)
    : memory_(&memory), addresses_(std::move(all)), place_of_(addresses_.size(), 0) {
  const std::vector<std::uint32_t> group_of = nodes.groups();
  const std::uint32_t own = group_of[mine];
  std::vector<std::size_t> node_of(nodes.count());
  for (std::uint32_t group = 0; group < nodes.count(); ++group) {
    if (group == own) continue;
    node_of[group] = nodes_.size();
    Node& node = nodes_.emplace_back();
    node.leader = nodes.leader_of(group);
    node.heads = addresses_[node.leader].heads;
  }
  for (std::uint32_t rank = 0; rank < addresses_.size(); ++rank)
    if (group_of[rank] != own) nodes_[node_of[group_of[rank]]].ranks.push_back(rank);
  for (Node& node : nodes_) {
    node.first = rank_at_.size();
    for (const std::uint32_t rank : node.ranks) {
      place_of_[rank] = rank_at_.size();
      rank_at_.push_back(rank);
    }
  }
  words_.resize(rank_at_.size());
  noted_.assign(rank_at_.size(), kUnknown);
  heads_.resize(rank_at_.size() * kHeadWords);
}

Status RemoteNodes::fetch_words() {
  std::vector<RemotePart> parts;
  for (const Node& node : nodes_) {
    const std::size_t count = node.ranks.size();
    parts.push_back({node.leader, node.heads + words_offset(static_cast<std::uint32_t>(count)),
                     std::as_writable_bytes(std::span(words_).subspan(node.first, count))});
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
    for (std::size_t i = 0; i < node.ranks.size(); ++i) {
      if (words_[node.first + i].log == noted_[node.first + i]) continue;
      node.changed = true;
      changed_.push_back(node.ranks[i]);
    }
  }
  return !changed_.empty();
}

// A log only grows within an epoch, and its head moves before the word in the table does.
bool RemoteNodes::torn() const {
  return std::ranges::any_of(changed_, [this](std::uint32_t rank) {
    const std::size_t at = place_of_[rank];
    const LogHead before = LogHead::of(words_[at].log);
    const LogHead after = LogHead::of(head_word(at, offsetof(RankHead, log)));
    return before.epoch == after.epoch && before.bytes > after.bytes;
  });
}

// The heads are fetched after the words that say what is new: whatever a rank had told before it
// published that, such as the layout, is in them.
Result<std::span<const std::uint32_t>> RemoteNodes::look() {
  do {
    BENTO_TRY(fetch_words());
    if (!mark_changed()) return std::span<const std::uint32_t>();
    BENTO_TRY(fetch_heads(true));
  } while (torn());
  return std::span<const std::uint32_t>(changed_);
}

Result<std::uint64_t> RemoteNodes::latest_time() {
  BENTO_TRY(fetch_words());
  std::uint64_t latest = 0;
  for (const Word& word : words_) latest = std::max(latest, word.time_ns);
  return latest;
}

LogHead RemoteNodes::found(std::uint32_t rank) const {
  return LogHead::of(words_[place_of_[rank]].log);
}

void RemoteNodes::note(std::uint32_t rank) {
  noted_[place_of_[rank]] = words_[place_of_[rank]].log;
}

void RemoteNodes::forget() {
  std::ranges::fill(noted_, kUnknown);
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

// Its generation is fetched when the bytes have come: it grows before they are written over.
Result<std::span<const std::byte>> RemoteNodes::area(std::uint32_t rank, const BufferPlace& place,
                                                     std::uint64_t bytes) {
  BENTO_TRY(
      fetch(rank, addresses_[rank].parts[1 + place.area], place.offset, place.offset + bytes));
  const std::size_t at = place_of_[rank];
  const auto node = std::ranges::find_if(nodes_, [at](const Node& one) {
    return at >= one.first && at < one.first + one.ranks.size();
  });
  std::array<std::uint64_t, 1> now{};
  const std::uint64_t address = node->heads + rank_heads_offset() +
                                (at - node->first) * sizeof(RankHead) +
                                offsetof(RankHead, generation) + place.area * sizeof(now);
  const RemotePart generation{node->leader, address, bytes_of(now)};
  BENTO_TRY(memory_->fetch({&generation, 1}));
  if (now[0] != place.generation) bytes_.clear();
  return std::span<const std::byte>(bytes_);
}

Result<std::optional<std::uint32_t>> RemoteNodes::behind(std::uint64_t collective) {
  BENTO_TRY(fetch_heads(false));
  for (std::size_t at = 0; at < rank_at_.size(); ++at)
    if (head_word(at, offsetof(RankHead, reached)) < collective) return std::optional(rank_at_[at]);
  return std::optional<std::uint32_t>();
}

}  // namespace bento
