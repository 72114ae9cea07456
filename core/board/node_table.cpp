// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/board/node_table.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

namespace bento {

namespace {

using Clock = std::chrono::steady_clock;

Clock::time_point deadline(double timeout_s) {
  if (timeout_s <= 0) return Clock::time_point::max();
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_s));
}

}  // namespace

NodeTable::NodeTable(RemoteMemory& memory, NodeHead& node, const Place& place)
    : memory_(&memory), node_(&node), place_(place), entries_(place.nodes) {}

Result<std::span<const NodeTable::Entry>> NodeTable::look() {
  if (place_.here.empty()) {
    const RemotePart part{0, place_.address, std::as_writable_bytes(std::span(entries_))};
    BENTO_TRY(memory_->fetch({&part, 1}));
  } else {
    std::ranges::transform(place_.here, entries_.begin(), [](const NodeEntry& entry) {
      return Entry{entry.count.load(std::memory_order_acquire),
                   entry.time_ns.load(std::memory_order_acquire)};
    });
  }
  return std::span<const Entry>(entries_);
}

// Ranks of this node may have given times of another node's clock, too.
Result<std::uint64_t> NodeTable::latest_time() {
  BENTO_ASSIGN(const auto entries, look());
  std::uint64_t latest = node_->latest_ns.load(std::memory_order_acquire);
  for (const Entry& entry : entries) latest = std::max(latest, entry.time_ns);
  return latest;
}

// The number that a rank draws is larger than those of all that were published before it did.
Status NodeTable::show() {
  const std::uint64_t mine = node_->published.fetch_add(1) + 1;
  if (!place_.here.empty()) {
    NodeEntry& entry = place_.here[place_.mine];
    raise(entry.time_ns, node_->latest_ns.load());
    raise(entry.count, mine);
    return {};
  }
  if (node_->shown.load() >= mine) return {};
  BENTO_TRY(node_->table_lock.lock(place_.timeout_s, "telling other nodes what was written"));
  Status done = put_all(mine);
  if (!done) node_->unreachable.store(1);
  node_->table_lock.unlock();
  return done;
}

// With the lock. The count is read before the time: whoever is counted has set its time.
Status NodeTable::put_all(std::uint64_t mine) {
  if (node_->shown.load() >= mine) return {};
  if (node_->unreachable.load() != 0)
    return fail(Code::kPeer,
                "other nodes cannot be told what was written: a rank of this node has failed to "
                "reach rank 0");
  Entry all;
  all.count = node_->published.load();
  all.time_ns = node_->latest_ns.load();
  BENTO_TRY(put(all));
  const auto until = deadline(place_.timeout_s);
  for (unsigned turn = 0;; ++turn) {
    BENTO_ASSIGN(const auto entries, look());
    if (entries[place_.mine] == all) break;
    if (Clock::now() > until)
      return fail(Code::kPeer,
                  fmt::format("what was written could not be told to other nodes within {} s "
                              "(timeout=): it does not arrive at rank 0",
                              place_.timeout_s));
    if (turn > 100) std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  node_->shown.store(all.count);
  return {};
}

Status NodeTable::put(const Entry& entry) {
  const std::array<std::uint64_t, 2> words{entry.count, entry.time_ns};
  return memory_->put(0, place_.address + place_.mine * sizeof(NodeEntry),
                      std::as_bytes(std::span(words)));
}

// Rank 0's word is 1 only while it rests, so that what is seen beside a 1 has come without its
// help.
Result<bool> NodeTable::try_put(std::uint64_t at_rest, std::uint32_t round, double within_s) {
  const Entry unlike{~std::uint64_t{0} - round, 0};
  BENTO_TRY(put(unlike));
  const auto until = deadline(within_s);
  do {
    Entry found;
    std::uint64_t rests = 0;
    const std::array<RemotePart, 2> parts{
        RemotePart{0, place_.address + place_.mine * sizeof(NodeEntry),
                   std::as_writable_bytes(std::span(&found, 1))},
        RemotePart{0, at_rest, std::as_writable_bytes(std::span(&rests, 1))}};
    BENTO_TRY(memory_->fetch(parts));
    if (found == unlike && rests == 1) return true;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  } while (Clock::now() < until);
  return false;
}

}  // namespace bento
