// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/hand_over.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "transfer/cache_folder.hpp"
#include "transfer/cache_note.hpp"
#include "transfer/cached_copy.hpp"
#include "transfer/daemon_lock.hpp"
#include "transfer/h5bento_transfer.h"
#include "transfer/parts_folder.hpp"
#include "transfer/spill.hpp"
#include "transfer/submit.hpp"

namespace bento::transfer {
namespace {

constexpr double kIdleExit = 60;  ///< seconds after which a daemon that a program started ends

constexpr int kMostRestarts = 5;
constexpr std::chrono::duration<double> kFirstRestartPause(0.25);
/// A daemon that has lived so long has not died of its start.
constexpr std::chrono::seconds kLongLife(60);

/// Wished now, or when the copy was created.
Result<Arrive> wished_arrival(const std::string& final_name, const std::string& path,
                              const FlushWish& wish) {
  if (wish.arrive) return *wish.arrive;
  return arrival_of_copy(final_name, path);
}

/// The folder of a copy, held so that nobody removes it meanwhile. Errors: kNotFound, kIo.
Result<CacheFolder> hold_copy(const std::string& path) {
  BENTO_ASSIGN(auto folder, CacheFolder::of_copy(path));
  if (!folder || id_of_copy(path).empty())
    return fail(Code::kNotFound, fmt::format("'{}' is no copy in a cache any more", path));
  return std::move(*folder);
}

/// Submits a copy, and removes what was created before it, which the daemon cannot bring any more.
/// Lets `folder` go, which the daemon may want.
Status submit_copy(CacheFolder folder, const std::string& final_name, const std::string& path,
                   const FlushWish& wish, Arrive arrive) {
  Submission submission;
  submission.source = path;
  submission.destination = final_name;
  submission.evict = wish.evict;
  submission.keep = wish.keep;
  submission.arrive = arrive;
  submission.cached = true;
  submission.bytes_per_second = wish.bytes_per_second;
  submission.cpu_percent = wish.cpu_percent;
  if (auto done = submit(wish.transfer_file, submission); !done)
    return fail(std::move(done).error());
  return folder.remove_older(path);
}

/// Starts one unless one works through this transfer file already.
Status start_daemon_for(const std::string& transfer_file) {
  BENTO_ASSIGN(const std::string program, find_program());
  const std::string idle = fmt::format("{:g}", kIdleExit);
  if (auto started = start_daemon(program, transfer_file, {"--idle-exit", idle}); !started)
    return fail(std::move(started).error());
  return {};
}

/// No daemon runs though something waits to be copied. What kills one may kill the next: so not at
/// once, and not for ever.
Status start_again(const std::string& final_name, const std::string& file, double seconds,
                   Restarts& restarts) {
  using Seconds = std::chrono::duration<double>;
  const auto now = std::chrono::steady_clock::now();
  if (now - restarts.last > kLongLife) restarts = {};
  if (restarts.in_a_row == kMostRestarts)
    return fail(Code::kIo,
                fmt::format("'{}' has not arrived: the daemon for '{}' has died again and again, "
                            "after {} starts; '{}.log' may say why, and so may "
                            "h5bento transfer run --file '{}'. The file is complete in the cache",
                            final_name, file, restarts.in_a_row, file, file));
  const int died = restarts.in_a_row;
  const Seconds pause = died > 0 ? kFirstRestartPause * (1 << (died - 1)) : Seconds(0);
  const Seconds left = pause - (now - restarts.last);
  if (left.count() > seconds) {
    std::this_thread::sleep_for(Seconds(seconds));
    return {};
  }
  if (left.count() > 0) std::this_thread::sleep_for(left);
  ++restarts.in_a_row;
  auto started = start_daemon_for(file);
  restarts.last = std::chrono::steady_clock::now();
  if (started) return {};
  return fail(std::move(started).error().with_context(
      fmt::format("'{}' has not arrived, and is complete in the cache", final_name)));
}

}  // namespace

Result<Arrive> arrival_of_copy(const std::string& final_name, const std::string& path) {
  BENTO_ASSIGN(const auto note, read_note(final_name));
  return arrive_of(note && note->copy == path ? note->arrive : "");
}

std::string transfer_file_for(const std::string& copy) {
  std::string usual = default_transfer_file();
  if (DaemonLock::sees(usual, root_file_of_copy(copy))) return usual;
  return fmt::format("{}/transfer-{}.scrinfo", folder_of(folder_of(folder_of(copy))), ::geteuid());
}

Status note_copy(const std::string& final_name, const std::string& path, const FlushWish& wish) {
  BENTO_ASSIGN(const Arrive arrive, wished_arrival(final_name, path, wish));
  BENTO_ASSIGN(const auto before, read_note(final_name));
  if (before && !before->copied && before->copy != path && is_here(*before)) {
    // In another cache: neither of the two programs has seen the other when it began.
    if (state_of_copy(before->copy) == CopyState::kWritten)
      return fail(written_elsewhere(final_name, before->copy));
    BENTO_TRY(CacheFolder::set_superseded(before->copy));
  }
  CacheNote note;
  note.copy = path;
  note.id = id_of_copy(path);
  note.host = this_host();
  note.transfer_file = transfer_file_for(path);
  note.evict = wish.evict;
  note.arrive = arrive_name(arrive);
  return write_note(final_name, note);
}

Result<bool> hand_over(const std::string& final_name, const std::string& path,
                       const FlushWish& wish, const std::function<Status()>& tick) {
  BENTO_ASSIGN(CacheFolder folder, hold_copy(path));
  BENTO_ASSIGN(const Arrive arrive, wished_arrival(final_name, path, wish));
  BENTO_TRY(note_copy(final_name, path, wish));
  if (needs_finish(path)) {
    // It would be taken away from whoever has opened it since.
    if (state_of_copy(path) == CopyState::kWritten)
      return fail(Code::kBusy,
                  fmt::format("a program writes to '{}', and brings it to its name when it closes "
                              "it (errno = {})",
                              path, EBUSY),
                  EBUSY);
    BENTO_TRY(withdraw(wish.transfer_file, final_name));
    BENTO_TRY(finish_spilled(path, final_name, tick));
    BENTO_TRY(CacheFolder::set_arrived(path));
    BENTO_TRY(remove_note(final_name, path));
    if (arrive != Arrive::kContainer)
      fmt::print(stderr,
                 "h5bento: warning: '{}' was written directly, as the container that it "
                 "is; {} makes of it what arrive={} wants\n",
                 final_name, arrive == Arrive::kNative ? "'h5bento export'" : "'h5bento defrag'",
                 arrive_name(arrive));
    BENTO_TRY(folder.remove_older(path));
    BENTO_TRY(folder.remove(number_of_copy(path)));
    folder.remove_if_empty();
    return true;
  }
  if (!wish.submit) {
    BENTO_TRY(folder.remove_older(path));
    return false;
  }
  PartsFolder::remove_others(final_name, id_of_copy(path));
  BENTO_TRY(submit_copy(std::move(folder), final_name, path, wish, arrive));
  BENTO_TRY(start_daemon_for(wish.transfer_file));
  return false;
}

Status hand_over_share(const std::string& final_name, const std::string& path,
                       const FlushWish& wish) {
  BENTO_ASSIGN(CacheFolder folder, hold_copy(path));
  if (!wish.submit) return {};
  BENTO_TRY(submit_copy(std::move(folder), final_name, path, wish, Arrive::kContainer));
  return start_daemon_for(wish.transfer_file);
}

Result<bool> wait_a_little(const std::string& final_name, const std::string& file, double seconds,
                           std::string& problem, Restarts& restarts) {
  std::array<char, 4096> text{};
  const int result =
      h5bento_transfer_wait(final_name.c_str(), file.c_str(), seconds, text.data(), text.size());
  problem = text.data();
  if (result == H5BENTO_TRANSFER_ARRIVED) return true;
  if (result == H5BENTO_TRANSFER_LATE) return false;
  if (result == H5BENTO_TRANSFER_FAILED)
    return fail(Code::kIo, fmt::format("'{}' has not arrived: {}", final_name, problem));
  if (DaemonLock::held(file))
    return fail(Code::kIo, fmt::format("'{}' will not arrive: {}", final_name, problem));
  BENTO_TRY(start_again(final_name, file, seconds, restarts));
  return false;
}

}  // namespace bento::transfer
