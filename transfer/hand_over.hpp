// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How a program gives a copy in a cache to the daemon, and waits until it has arrived. Done by one
/// process, rank 0 of those that have the file open (hand_over_share(): the first rank of its
/// node). Source: docs/transfer.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/base/error.hpp"
#include "transfer/arrive.hpp"

namespace bento::transfer {

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
/// How a copy shall arrive, as was wished when it was created.
Result<Arrive> arrival_of_copy(const std::string& final_name, const std::string& path);
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

}  // namespace bento::transfer
