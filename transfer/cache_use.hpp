// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What a program does with a cache, and what the daemon does when a copy has arrived. Everything
/// here is done by one process: rank 0 of those that have the file open, or the daemon. A
/// CacheFolder that is handed out is locked until it is destroyed. Source: docs/transfer.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/base/error.hpp"
#include "transfer/arrive.hpp"
#include "transfer/cache_folder.hpp"
#include "transfer/share.hpp"
#include "transfer/transfer_file.hpp"

namespace bento::transfer {

/// A container in a cache that is about to be created or opened.
struct CachedCopy {
  CacheFolder folder;
  std::string path;        ///< of the container
  std::string final_name;  ///< where it shall arrive
  std::string id;
};

/// May a container of so many physical files get this name? The rules of creating it there. Errors:
/// kNotFound (no folder), kPermission, kExists (`exclusive`; a file in the way that must not be
/// lost), kBusy (a program writes to what has the name).
Status check_final_name(const std::string& final_name, std::uint32_t files, bool exclusive);

/// Makes room for a new copy. Errors: kNoSpace (fewer than `room` bytes are free), kBusy (a program
/// writes the one before), those of CacheFolder.
Result<CachedCopy> begin_copy(const std::string& cache, const std::string& final_name,
                              const std::string& id, std::uint64_t room);
/// The same for a share that is not the first: a copy with the id of the first one's. Errors also:
/// kInvalidArgument (such a copy is there: the node shares this folder with another one).
Result<CachedCopy> begin_share(const std::string& cache, const std::string& final_name,
                               const std::string& id, std::uint64_t room, const Share& share);
/// Takes it back: nothing was written.
void forget_copy(CachedCopy& copy);

/// Where the newest state of a file is, if it has not arrived; nothing if it lies under its own
/// name. Errors: kNotFound (it is in a cache that this node does not have: says where).
Result<std::optional<CachedCopy>> newest_copy(const std::string& name);
/// A container of which each of several nodes has a share can be opened by nobody before it has
/// arrived. Errors: kNotFound, saying so.
Status check_whole(const CachedCopy& copy);
/// Is there a note for this name, whatever it says? Costs one look.
bool has_note(const std::string& name);

/// How a copy is to arrive.
struct FlushWish {
  bool submit = true;  ///< false: it stays in the cache until somebody submits it
  bool evict = true;
  std::uint64_t keep = 0;
  /// Nothing: as the note says, which is what was wished when it was created.
  std::optional<Arrive> arrive;
  std::optional<double> bytes_per_second;
  std::optional<double> cpu_percent;
  std::string transfer_file;  ///< transfer_file_for() that copy
};
/// The transfer file through which a copy goes: the usual one. Where the daemon that runs for that
/// cannot see the copy (nodes with one folder for temporary files, namespaces of one system), one
/// in the cache.
std::string transfer_file_for(const std::string& copy);
/// Something was committed: others look for it in the cache from now on.
Status note_copy(const std::string& final_name, const std::string& path, const FlushWish& wish);
/// The container is complete in the cache and closed: notes it, hands it to the daemon, which is
/// started if none runs, and removes what was created before. If the cache was full it is brought
/// to its name here and now, and `tick` called meanwhile. Returns whether it has arrived. Errors:
/// those of submit(), start_daemon() and finish_spilled(); the container stays in the cache.
Result<bool> hand_over(const std::string& final_name, const std::string& path,
                       const FlushWish& wish, const std::function<Status()>& tick);
/// The same for a share that is not the first, after hand_over() of that one. Errors: those of
/// submit() and start_daemon(); the share stays in the cache.
Status hand_over_share(const std::string& final_name, const std::string& path,
                       const FlushWish& wish);
/// The daemons that a waiting program has started in place of dead ones.
struct Restarts {
  int in_a_row = 0;  ///< each dead soon after its start
  std::chrono::steady_clock::time_point last;
};
/// Waits a little until it has arrived. True: it has. `problem` gets what the daemon is waiting
/// for; `transfer_file` is where it was handed over. Starts a daemon if none runs, after a pause
/// that grows with each that dies. Errors: kIo (it has failed for good, or too many have died; says
/// why).
Result<bool> wait_a_little(const std::string& final_name, const std::string& transfer_file,
                           double seconds, std::string& problem, Restarts& restarts);

/// The newest state of this name is not wanted any more: takes it back from the daemon, and removes
/// it. In the cache of another node it stays, and does not arrive. Errors: kBusy (a program writes
/// to it).
Status discard_copies(const std::string& name);

/// Of the daemon: is this copy still what shall get the name? Nobody else changes that while the
/// folder is held. Errors: kExists, if not.
Result<std::optional<CacheFolder>> hold_wanted(const Entry& master);
/// Of the daemon: a copy lies under its final name. Its note goes, and it is evicted, unless a
/// program has written to it since.
Status settle_copy(const Entry& master);

}  // namespace bento::transfer
