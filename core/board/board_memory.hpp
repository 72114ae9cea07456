// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What lies where in the memory that the ranks of a node share, and by which rules it changes.
///
/// Each rank has a *log* of what it has written since the last commit or exchange, and two *areas*
/// in which the bytes of its small records gather. Only it writes there; all others read.
///
/// - A log grows at its end. What its head covers does not change; the head moves once a call, so
///   that all pieces of a write appear together.
/// - A commit or an exchange, which every rank has entered before any comes out, begins a new
///   *epoch*: logs are empty then. Who reads a head of another epoch than its own ignores it: that
///   rank has not come out yet, and what it wrote is known.
/// - An area has a *generation*. It grows before anything in the area is written over, and by then
///   the log says where those bytes are instead. So a reader copies, and holds the generation
///   against what it was; if it has grown, the log leads on.
/// - Calls of all ranks do not wait for each other, so one rank may have come further than another.
///   What it cuts off or deletes in such a call, or overwrites after one in which natively all
///   meet, stays where the others find it until they have come there, too.
/// - A *counter* of the node grows when something new was published and somebody has looked since
///   it grew last. Who finds the counter as it was knows that nothing is new; who publishes while
///   nobody reads writes to no memory that others write to.
///
/// Where there are ranks on other nodes, these read the same memory as RemoteMemory, never the
/// node's counter. The memory of rank 0's node has a *table* of all nodes
/// (core/board/node_table.hpp): one small fetch says on which of them there is anything new, and
/// from when. It is the only memory that is written from afar. Behind the heads of each node are
/// the log words of all its ranks side by side, so that a second small fetch says of which.
/// - A rank that has published shows so in the table before H5Dwrite returns. Between the two,
///   others may find that an area's generation has grown, and must read the log words then,
///   whatever the table says.
/// - The time in the table is later than those of all records that a node's ranks have published:
///   who writes looks there first, and gives later times, whatever its node's clock shows.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "core/board/node_lock.hpp"

namespace bento {

/// Bytes of a log or of an area at most where there are ranks on other nodes. All of it has
/// addresses from the beginning on, as what others read must not move, and a program may have many
/// files.
inline constexpr std::uint64_t kMostExposedBytes = std::uint64_t{1} << 34;
/// The same elsewhere, and of all that one rank has.
inline constexpr std::uint64_t kMostBoardBytes = std::uint64_t{1} << 38;
inline constexpr std::uint64_t kRankBoardBytes = std::uint64_t{1} << 40;

struct NodeHead {
  alignas(64) std::atomic<std::uint64_t> at_rest;  ///< not 0: the first rank makes no call now
  alignas(64) std::atomic<std::uint64_t> counter;
  alignas(64) std::atomic<std::uint64_t> seen;  ///< the largest counter that anybody has looked at
  alignas(64) NodeLock lock;                    ///< of transfers in MPI's atomic mode
  // Where there are other nodes:
  alignas(64) std::atomic<std::uint64_t> published;  ///< times that ranks of the node did so
  std::atomic<std::uint64_t> latest_ns;              ///< the latest of their times
  alignas(64) std::atomic<std::uint64_t> shown;      ///< of `published`, what the table has
  std::atomic<std::uint64_t> unreachable;            ///< not 0: a rank has failed to put it there
  alignas(64) NodeLock table_lock;                   ///< of the node's entry in the table
};

struct alignas(64) RankHead {
  std::atomic<std::uint64_t> log;  ///< LogHead
  std::array<std::atomic<std::uint64_t>, 2> generation;
  std::atomic<std::uint64_t> chunk_bytes;  ///< of the container's layout; 0 until it is fixed
  std::atomic<std::uint64_t> collective;   ///< calls of all ranks that this one has come to
  std::atomic<std::uint64_t> reached;      ///< those in which it has published what it writes
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// Behind the heads: what RankHead::log is of each rank.
using LogWord = std::atomic<std::uint64_t>;

/// Of one node, in the table behind the log words of rank 0's node. Both only grow.
struct NodeEntry {
  std::atomic<std::uint64_t> count;
  std::atomic<std::uint64_t> time_ns;
};
static_assert(sizeof(NodeEntry) == 2 * sizeof(std::uint64_t));

/// To `value`, unless it is larger already.
inline void raise(std::atomic<std::uint64_t>& word, std::uint64_t value) {
  std::uint64_t old = word.load();
  while (old < value && !word.compare_exchange_weak(old, value)) {
  }
}

/// Bytes of a log that are published, and the epoch that they belong to, in one word.
struct LogHead {
  static constexpr unsigned kBits = 40;
  std::uint32_t epoch = 0;  ///< 24 bits
  std::uint64_t bytes = 0;

  [[nodiscard]] std::uint64_t word() const { return std::uint64_t{epoch} << kBits | bytes; }
  static LogHead of(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word >> kBits), word & ((std::uint64_t{1} << kBits) - 1)};
  }
  static std::uint32_t after(std::uint32_t epoch) { return (epoch + 1) & 0xFFFFFFu; }
};
static_assert(kMostBoardBytes < std::uint64_t{1} << LogHead::kBits);

/// Where the parts of the `index`-th rank of the node begin; the heads lie at the beginning.
inline std::uint64_t log_offset(std::uint32_t index) {
  return (std::uint64_t{index} + 1) * kRankBoardBytes;
}
inline std::uint64_t area_offset(std::uint32_t index, unsigned area) {
  return log_offset(index) + (1 + area) * kMostBoardBytes;
}
/// Within the heads: those of the ranks, their log words, and on rank 0's node the table.
inline std::uint64_t rank_heads_offset() {
  return sizeof(NodeHead);
}
inline std::uint64_t words_offset(std::uint32_t ranks) {
  return rank_heads_offset() + std::uint64_t{ranks} * sizeof(RankHead);
}
inline std::uint64_t table_offset(std::uint32_t ranks) {
  return words_offset(ranks) + std::uint64_t{ranks} * sizeof(LogWord);
}
/// `nodes`: entries of the table, 0 on all but rank 0's node.
inline std::uint64_t head_bytes(std::uint32_t ranks, std::uint32_t nodes) {
  return table_offset(ranks) + std::uint64_t{nodes} * sizeof(NodeEntry);
}
inline std::uint64_t board_bytes(std::uint32_t ranks) {
  return log_offset(ranks);
}

}  // namespace bento
