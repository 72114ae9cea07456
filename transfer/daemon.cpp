// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/daemon.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include <fmt/format.h>

#include "transfer/kvtree_file.hpp"
#include "transfer/settle.hpp"
#include "transfer/share_job.hpp"
#include "transfer/work_folder.hpp"

namespace bento::transfer {
namespace {

/// How often a busy daemon looks whether it was told something.
constexpr Seconds kBusyPoll(0.25);
/// Longest sleep without a look at stop().
constexpr Seconds kNap(0.1);
constexpr Seconds kFirstPause(0.5);
constexpr Seconds kLongestPause(30);
/// Between two looks at what other nodes have brought.
constexpr Seconds kWaitingPause(1);
// A program that creates its file anew leaves a moment in which the source is missing or holds
// nothing yet.
constexpr Seconds kSourceGrace(3);
constexpr Seconds kRateWindow(10);
constexpr std::uint64_t kSmallestBurst = std::uint64_t{1} << 20;
constexpr std::uint64_t kLargestBurst = std::uint64_t{64} << 20;

/// Missing folders on the way to the transfer file, as SCR makes them.
Status make_folders(const std::string& path) {
  const std::string folder = folder_of(path);
  for (std::size_t at = 1; at != std::string::npos && at < folder.size();) {
    at = folder.find('/', at + 1);
    const std::string part = folder.substr(0, at);
    if (::mkdir(part.c_str(), 0770) != 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
      return fail(os_error(errno, "making the folder", part));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Daemon>> Daemon::start(DaemonOptions options) {
  auto daemon = std::unique_ptr<Daemon>(new Daemon(std::move(options)));
  const std::string& file = daemon->options_.file;
  BENTO_ASSIGN(daemon->allowed_, AllowedFolders::below(daemon->options_.allowed));
  BENTO_TRY(make_folders(file));
  BENTO_ASSIGN(daemon->lock_, DaemonLock::take(file));
  if (!daemon->lock_)
    return fail(Code::kBusy, fmt::format("a daemon runs for '{}' already", file), EWOULDBLOCK);
  BENTO_ASSIGN(daemon->mark_, DaemonLock::open_mark(file));
  daemon->holds_lock_ = true;
  BENTO_TRY(daemon->say_state("STOPPED"));
  return daemon;
}

Daemon::~Daemon() = default;

Seconds Daemon::now() const {
  return Seconds(std::chrono::steady_clock::now().time_since_epoch());
}

void Daemon::sleep_until_changed(Seconds time) const {
  struct stat before{};
  const bool was_there = ::stat(options_.file.c_str(), &before) == 0;
  for (const Seconds until = now() + time; !told_to_stop_ && now() < until;) {
    sleep(std::min(kNap, until - now()));
    struct stat after{};
    if ((::stat(options_.file.c_str(), &after) == 0) != was_there ||
        after.st_ino != before.st_ino || after.st_size != before.st_size ||
        after.st_mtim.tv_sec != before.st_mtim.tv_sec ||
        after.st_mtim.tv_nsec != before.st_mtim.tv_nsec)
      return;
  }
}

void Daemon::sleep(Seconds time) const {
  const Seconds until = now() + time;
  while (!told_to_stop_ && now() < until)
    std::this_thread::sleep_for(std::min(kNap, until - now()));
}

Status Daemon::say_state(const char* state) {
  return update_kvfile(options_.file, [&](KvTree& tree) -> Status {
    set_state(tree, state);
    return {};
  });
}

void Daemon::heed(const TransferState& state) {
  last_poll_ = now();
  command_ = state.command;
  pace_.limit(state.bytes_per_second.value_or(pace_.bytes_per_second()),
              state.cpu_percent.value_or(pace_.cpu_percent()));
}

// Says STATE as SCR's daemon does: RUNNING while it is told to run and not everything is done.
Result<TransferState> Daemon::poll() {
  TransferState state;
  BENTO_TRY(update_kvfile(options_.file, [&](KvTree& tree) -> Status {
    state = read_state(tree);
    if (state.command != Command::kExit) set_state(tree, state.runs() ? "RUNNING" : "STOPPED");
    return {};
  }));
  heed(state);
  return state;
}

Result<bool> Daemon::pass() {
  for (;;) {
    if (told_to_stop_) return false;
    if (now() - last_poll_ >= kBusyPoll) {
      BENTO_ASSIGN(const KvTree tree, read_kvfile(options_.file));
      heed(read_state(tree));
    }
    if (command_ != Command::kRun) return false;
    const Seconds wait = pace_.wait();
    if (wait.count() <= 0) return true;
    sleep(std::min({wait, kNap, kBusyPoll}));
  }
}

void Daemon::copied(std::uint64_t bytes) {
  pace_.copied(bytes);
  rate_bytes_ += bytes;
}

std::uint64_t Daemon::burst() const {
  const double rate = pace_.bytes_per_second();
  if (rate <= 0) return kLargestBurst;
  return std::clamp(static_cast<std::uint64_t>(std::min(rate, 1e15) / 4), kSmallestBurst,
                    kLargestBurst);
}

Result<bool> Daemon::report(const std::vector<Entry>& entries) {
  bool there = true;
  BENTO_TRY(update_kvfile(options_.file, [&](KvTree& tree) -> Status {
    for (const auto& entry : entries) there = update_entry(tree, entry) && there;
    if (const Seconds took = now() - rate_from_; took.count() > 0.1)
      set_rate(tree, static_cast<double>(rate_bytes_) / took.count());
    heed(read_state(tree));
    return {};
  }));
  // The rate of the last seconds, not of all of it.
  if (now() - rate_from_ > kRateWindow) {
    rate_bytes_ /= 2;
    rate_from_ += (now() - rate_from_) / 2;
  }
  return there;
}

// Notes an error where the person who waits for the file looks: in the transfer file.
Status Daemon::settle(const std::vector<Entry>& group, const Error& error) {
  const std::string& key = group.front().source;
  Trouble& trouble = trouble_[key];
  if (trouble.ticket != group.front().ticket || trouble.pause.count() == 0)
    trouble = {now(), now(), kFirstPause, group.front().ticket};
  const bool over = options_.give_up > 0 && (now() - trouble.since).count() >= options_.give_up;
  const bool created_anew = error.code == Code::kNotFound && now() - trouble.since < kSourceGrace;
  const bool failed = over || !(is_transient(error) || created_anew);
  trouble.next_try = now() + trouble.pause;
  trouble.pause = std::min(trouble.pause * 2, kLongestPause);
  fmt::print(stderr, "h5bento transfer: {}{}\n", error.text,
             failed ? "; given up"
                    : fmt::format("; next try in {:.1f} s", (trouble.next_try - now()).count()));
  if (failed) clean(group.front());
  return update_kvfile(options_.file, [&](KvTree& tree) -> Status {
    for (Entry entry : group) {
      entry.problem = error.text;
      entry.failed = failed;
      update_entry(tree, entry);
    }
    return {};
  });
}

// Where the shares of several nodes come together, others are at work.
void Daemon::clean(const Entry& master) {
  if (master.share == 0) clean_destination(master.destination, allowed_);
}

// Until it is looked at again: other nodes' daemons have to bring something first.
void Daemon::let_wait(const Entry& master) {
  trouble_[master.source] = {now(), now() + kWaitingPause, kFirstPause, master.ticket};
}

Status Daemon::forget(const std::vector<Entry>& group) {
  return update_kvfile(options_.file, [&](KvTree& tree) -> Status {
    for (const auto& known : read_state(tree).entries)
      if (known.ticket == group.front().ticket) remove_entry(tree, known.source);
    return {};
  });
}

Status Daemon::say_done() {
  return update_kvfile(options_.file, [&](KvTree& tree) -> Status {
    // Something may have been submitted since.
    const TransferState state = read_state(tree);
    if (state.to_do()) return {};
    set_flag(tree, "DONE", !state.failed());
    set_flag(tree, "FAILED", state.failed());
    set_state(tree, "STOPPED");
    return {};
  });
}

// Submissions that were taken back: what was begun for them is removed. And what a daemon left that
// died after it said that all is complete.
void Daemon::clean_up(const TransferState& state, bool first) {
  if (first)
    for (const auto& entry : state.entries)
      if (entry.complete() && entry.part == 0) {
        clean(entry);
        if (!entry.cached || entry.share > 0) continue;
        if (auto settled = settle_copy(entry); !settled)
          fmt::print(stderr, "h5bento transfer: {}\n", settled.error().text);
      }
  std::erase_if(begun_, [&](const auto& one) {
    const auto still =
        std::ranges::find(state.entries, one.second.destination, &Entry::destination);
    if (still != state.entries.end()) return still->complete();
    clean(one.second);
    return true;
  });
}

Result<JobEnd> Daemon::run_job(std::vector<Entry>& entries) {
  const auto tell = [this](const std::vector<Entry>& changed) { return report(changed); };
  if (entries.front().share > 0) return run_share_job(entries, allowed_, *this, tell);
  Job job(entries, allowed_, options_.job);
  auto end = job.run(*this, tell);
  entries = job.entries();
  return end;
}

// One dataset, as far as it goes. True: there may be more to do at once.
Result<bool> Daemon::work_once(const TransferState& state) {
  bool waiting = false;
  for (const auto& group : group_entries(state.entries)) {
    const Entry& master = group.front();
    if (std::ranges::all_of(group, &Entry::complete)) continue;
    if (std::ranges::any_of(group, &Entry::failed)) continue;
    if (const auto trouble = trouble_.find(master.source);
        trouble != trouble_.end() && trouble->second.ticket == master.ticket &&
        now() < trouble->second.next_try) {
      waiting = true;
      continue;
    }
    begun_[master.source] = master;
    if (rate_bytes_ == 0) rate_from_ = now();
    // A daemon that is killed and started again and again must not be ahead each time.
    pace_.begin(std::ranges::all_of(group, [](const Entry& one) { return one.written == 0; }));
    auto entries = group;
    const auto end = run_job(entries);
    if (!end) {
      BENTO_TRY(settle(entries, end.error()));
    } else if (*end == JobEnd::kWaits) {
      let_wait(master);
    } else if (*end == JobEnd::kOutdated) {
      BENTO_TRY(forget(group));
    } else if (*end == JobEnd::kDone) {
      trouble_.erase(master.source);
    }
    return true;
  }
  rate_bytes_ = 0;
  if (!waiting) BENTO_TRY(say_done());
  return !waiting;
}

void Daemon::let_go() {
  holds_lock_ = false;
  lock_.reset();
}

// Under the lock of the transfer file: who submits after this finds that no daemon runs.
Result<bool> Daemon::may_leave() {
  BENTO_ASSIGN(LockedKvFile file, LockedKvFile::open(options_.file));
  if (read_state(file.tree()).runs()) return false;
  set_state(file.tree(), "STOPPED");
  BENTO_TRY(file.store());
  let_go();
  return true;
}

// The same where it was told to: who submits says RUN again.
Result<bool> Daemon::may_exit() {
  BENTO_ASSIGN(LockedKvFile file, LockedKvFile::open(options_.file));
  if (read_state(file.tree()).command != Command::kExit) return false;
  set_state(file.tree(), "EXITING");
  BENTO_TRY(file.store());
  let_go();
  return true;
}

Result<Daemon::Turn> Daemon::turn(bool first) {
  BENTO_ASSIGN(const TransferState state, poll());
  if (!state.unknown_command.empty() && first)
    fmt::print(stderr, "h5bento transfer: unknown COMMAND '{}' in '{}', taken for STOP\n",
               state.unknown_command, options_.file);
  clean_up(state, first);
  all_arrived_ = !state.failed();
  if (state.command == Command::kExit) {
    BENTO_ASSIGN(const bool left, may_exit());
    return left ? Turn::kLeave : Turn::kBusy;
  }
  if (state.runs()) {
    busy_until_ = now();
    BENTO_ASSIGN(const bool more, work_once(state));
    return more ? Turn::kBusy : Turn::kWait;
  }
  const bool long_idle =
      options_.idle_exit > 0 && (now() - busy_until_).count() >= options_.idle_exit;
  if (!options_.until_done && !long_idle) return Turn::kIdle;
  BENTO_ASSIGN(const bool left, may_leave());
  return left ? Turn::kLeave : Turn::kBusy;
}

Result<bool> Daemon::run() {
  Seconds pause = kFirstPause;
  busy_until_ = now();
  for (bool first = true; !told_to_stop_; first = false) {
    const auto next = turn(first);
    if (!next) {
      if (!is_transient(next.error())) return fail(next.error());
      fmt::print(stderr, "h5bento transfer: {}; next try in {:.1f} s\n", next.error().text,
                 pause.count());
      sleep(pause);
      pause = std::min(pause * 2, kLongestPause);
      continue;
    }
    pause = kFirstPause;
    if (*next == Turn::kLeave) return all_arrived_;
    if (*next == Turn::kWait) sleep_until_changed(kBusyPoll);
    if (*next == Turn::kIdle) sleep_until_changed(Seconds(options_.poll));
  }
  // Who submitted since the signal waits for the lock (start_daemon()).
  BENTO_TRY(say_state("STOPPED"));
  let_go();
  return all_arrived_;
}

}  // namespace bento::transfer
