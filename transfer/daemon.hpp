// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The daemon: works through one transfer file until it is told to end. One for each transfer file;
/// a lock on NAME.daemon keeps a second one out. Everything that it knows is in the transfer file
/// and at the destinations, so it may die at any moment. Source: docs/transfer.md.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "transfer/daemon_lock.hpp"
#include "transfer/destination.hpp"
#include "transfer/gate.hpp"
#include "transfer/job.hpp"
#include "transfer/pace.hpp"
#include "transfer/transfer_file.hpp"

namespace bento::transfer {

struct DaemonOptions {
  std::string file;                  ///< the transfer file; its folder is made if it is missing
  std::vector<std::string> allowed;  ///< destinations lie below these; none: anywhere
  double poll = 1.0;                 ///< seconds between two looks at the transfer file, idle
  double give_up = 0;                ///< seconds after which a transient error is a permanent one;
                                     ///< 0: never
  double idle_exit = 0;              ///< end after so many seconds without work; 0: never
  bool until_done = false;           ///< end as soon as nothing is left to do
  JobOptions job;
};

class Daemon final : private Gate {
 public:
  /// Takes the lock and says STATE STOPPED. Errors: kBusy (a daemon runs for this file), those of
  /// the transfer file and of AllowedFolders.
  static Result<std::unique_ptr<Daemon>> start(DaemonOptions options);
  ~Daemon() override;
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  /// Works until COMMAND EXIT, stop(), or what the options say. Returns whether every file arrived:
  /// false if one has failed for good. Errors: the transfer file cannot be read or written.
  Result<bool> run();
  /// Ends run() soon, everything left so that it can be taken up again. May be called by a signal
  /// handler.
  void stop() {
    told_to_stop_ = true;
    if (holds_lock_) DaemonLock::say_ending(mark_);
  }

 private:
  explicit Daemon(DaemonOptions options) : options_(std::move(options)) {}

  struct Trouble {
    Seconds since{0};
    Seconds next_try{0};
    Seconds pause{0};
    std::string ticket;
  };

  // Gate
  Result<bool> pass() override;
  void copied(std::uint64_t bytes) override;
  [[nodiscard]] std::uint64_t piece() const override { return pace_.piece(); }
  [[nodiscard]] std::uint64_t burst() const override;

  Result<TransferState> poll();
  void heed(const TransferState& state);
  enum class Turn { kBusy, kWait, kIdle, kLeave };
  Result<Turn> turn(bool first);
  Result<bool> work_once(const TransferState& state);
  Result<bool> report(const std::vector<Entry>& entries);
  Status settle(const std::vector<Entry>& group, const Error& error);
  Result<JobEnd> run_job(std::vector<Entry>& entries);
  void clean(const Entry& master);
  void let_wait(const Entry& master);
  Status forget(const std::vector<Entry>& group);
  Status say_done();
  Status say_state(const char* state);
  Result<bool> may_leave();
  Result<bool> may_exit();
  void let_go();
  void clean_up(const TransferState& state, bool first);
  void sleep(Seconds time) const;
  void sleep_until_changed(Seconds time) const;
  [[nodiscard]] Seconds now() const;

  DaemonOptions options_;
  std::optional<DaemonLock> lock_;
  AllowedFolders allowed_;
  Pace pace_;
  std::atomic<bool> told_to_stop_ = false;
  std::atomic<bool> holds_lock_ = false;
  Descriptor mark_;  ///< of the lock; open to the end, for the signal handler
  Command command_ = Command::kNone;
  Seconds last_poll_{0};
  Seconds busy_until_{0};  ///< when there was work last
  bool all_arrived_ = true;
  std::uint64_t rate_bytes_ = 0;  ///< copied since rate_from_
  Seconds rate_from_{0};
  std::map<std::string, Trouble> trouble_;  ///< by source of part 0
  std::map<std::string, Entry> begun_;      ///< masters of what was begun, by source
};

}  // namespace bento::transfer
