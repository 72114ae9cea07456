// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What a transfer file says: which files are to be copied where, how far that is, what the daemon
/// is told and what it does. SCR's keys have SCR's meaning. Ours lie below the key H5BENTO of an
/// entry, where SCR's programs do not look. Source: docs/formats/scr-transfer.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "transfer/kvtree.hpp"

namespace bento::transfer {

/// One file to copy.
struct Entry {
  std::string source;         ///< absolute path
  std::string destination;    ///< absolute path
  std::uint64_t size = 0;     ///< bytes
  std::uint64_t written = 0;  ///< bytes of the prefix that is at the destination, durably
  /// Destination of physical file 0, if this is a part of a container; else empty.
  std::string container;
  std::uint32_t part = 0;
  std::string ticket;   ///< of one submission: another one for the same source has another
  std::string problem;  ///< why it goes no further for now, or at all
  bool failed = false;  ///< never tried again unless it is submitted again
  bool named = false;   ///< it lies under its final name
  bool evict = false;   ///< the source is removed when it has arrived
  std::string stamp;    ///< what such a source was when it was copied; see Source::stamp()
  bool cached = false;  ///< the source lies in a CacheFolder: its note goes when it has arrived
  /// As what it arrives: the name of an Arrive, empty for a container as it is. All parts of a
  /// container that is made anew have the same destination.
  std::string arrive;
  std::string root;        ///< what the container was that was made anew, of part 0
  std::uint64_t keep = 0;  ///< so many of the cache that arrived last are not evicted
  /// Of a container that was written in the caches of `shares` nodes: which share of it this is.
  /// That of share 0 has the container's destinations, and waits for the others.
  std::uint32_t share = 0;
  std::uint32_t shares = 0;  ///< 0: the source is whole
  std::string copy;          ///< the id of all these shares
  /// Of a container that is made anew, in no order: bytes of the source that what is made so far
  /// corresponds to.
  std::uint64_t made = 0;

  /// What a person is told: how much of `size` is done.
  [[nodiscard]] std::uint64_t progress() const { return std::max(written, made); }

  /// Nothing is left to do. A file of 0 bytes is complete only when it has its name.
  [[nodiscard]] bool complete() const { return named || (written >= size && size > 0); }
};

enum class Command { kNone, kRun, kStop, kExit };

struct TransferState {
  Command command = Command::kNone;
  std::string unknown_command;             ///< one that nobody knows; counts as kStop
  std::string state;                       ///< STATE, empty if there is none
  bool done = false;                       ///< FLAG DONE
  double rate = 0;                         ///< bytes per second that the daemon copied lately
  std::optional<double> bytes_per_second;  ///< BW; absent or unreadable: nothing
  std::optional<double> cpu_percent;       ///< PERCENT
  std::vector<Entry> entries;              ///< those that are well formed, in the file's order

  [[nodiscard]] bool to_do() const;   ///< something is neither complete nor failed
  [[nodiscard]] bool failed() const;  ///< something has failed for good
  /// Is the daemon to be RUNNING? With nothing to do it then says DONE.
  [[nodiscard]] bool runs() const;
};

/// What a tree says. An entry without exactly one DESTINATION, SIZE and WRITTEN is none, as for
/// SCR's daemon.
TransferState read_state(const KvTree& tree);

/// Adds an entry, or puts it in the place of one for the same source. Its ticket must be new.
void put_entry(KvTree& tree, const Entry& entry);
/// Changes what the daemon changes of an entry: SIZE, WRITTEN, and what is ours. Returns false if
/// it is not there any more, or was submitted again.
bool update_entry(KvTree& tree, const Entry& entry);
/// Removes an entry, and FILES with the last one.
void remove_entry(KvTree& tree, std::string_view source);

void set_command(KvTree& tree, std::string_view command);
/// Sets STATE if it is not that already. Returns whether it was changed.
bool set_state(KvTree& tree, std::string_view state);
void set_flag(KvTree& tree, std::string_view flag, bool on);
/// Numbers as SCR prints them.
void set_number(KvTree& tree, std::string_view key, double value);

/// Says how fast the daemon copies.
void set_rate(KvTree& tree, double bytes_per_second);

/// A number that no other submission of this node has; microseconds since 1970.
std::string new_ticket();

}  // namespace bento::transfer
