// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/cache_use.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <memory>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/io/file_lock.hpp"
#include "core/layout/identity.hpp"
#include "core/layout/plan.hpp"
#include "core/layout/replace.hpp"
#include "transfer/cache_note.hpp"
#include "transfer/daemon_lock.hpp"
#include "transfer/descriptor.hpp"
#include "transfer/h5bento_transfer.h"
#include "transfer/parts_folder.hpp"
#include "transfer/source.hpp"
#include "transfer/spill.hpp"
#include "transfer/submit.hpp"

namespace bento::transfer {
namespace {

constexpr double kIdleExit = 60;  ///< seconds after which a daemon that a program started ends

constexpr int kMostRestarts = 5;
constexpr std::chrono::duration<double> kFirstRestartPause(0.25);
/// A daemon that has lived so long has not died of its start.
constexpr std::chrono::seconds kLongLife(60);

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "?";
}

/// A file that has the name of a part, and is none of the container that is replaced, would be
/// lost.
Status check_part_place(const std::string& final_name, std::uint32_t part,
                        const std::optional<Identity>& first) {
  const std::string name = physical_name(final_name, part);
  const auto file = open_posix_file(name, OpenMode::kRead);
  if (!file && file.error().code == Code::kNotFound) return {};
  if (!file) return fail(file.error());
  const auto found = find_identity(**file);
  if (found && *found && (*found)->part == part && (!first || (*found)->file_id == first->file_id))
    return {};
  return fail(Code::kExists,
              fmt::format("'{}' would be lost: its name is that of physical file {} of '{}'. If "
                          "nobody needs it: rm '{}' (errno = {})",
                          name, part, final_name, name, EEXIST),
              EEXIST);
}

Result<std::uint64_t> free_bytes(const std::string& folder) {
  struct statvfs about{};
  if (::statvfs(folder.c_str(), &about) != 0) return fail(os_error(errno, "statvfs of", folder));
  return std::uint64_t{about.f_bavail} * about.f_frsize;
}

Error elsewhere(const std::string& final_name, const CacheNote& note) {
  return Error{
      Code::kNotFound,
      fmt::format("'{}': its newest state has not arrived yet. It is in the cache of node '{}', as "
                  "'{}', which is not here ('{}' is). Open it there, or wait until it has arrived "
                  "(h5bento transfer status --file '{}', on that node). If that copy is lost: "
                  "rm '{}', and what is under the name now counts (errno = {})",
                  final_name, note.host, note.copy, host_name(), note.transfer_file,
                  note_name(final_name), ENOENT),
      ENOENT};
}

bool is_here(const CacheNote& note) {
  return id_of_copy(note.copy) == note.id;
}

}  // namespace

namespace {

/// Of a container that several nodes have shares of, the note names the first one's. What this node
/// has, if it has another one; empty if not.
std::string share_here(const std::string& final_name, const CacheNote& note) {
  if (is_here(note)) return {};
  const std::string cache = folder_of(folder_of(folder_of(note.copy)));
  std::string copy = copy_with_id(cache, final_name, note.id);
  return !copy.empty() && share_of_copy(copy).count > 0 ? copy : std::string{};
}

}  // namespace

Status check_final_name(const std::string& final_name, std::uint32_t files, bool exclusive) {
  if (CacheFolder::keeps(base_of(final_name)))
    return fail(
        Code::kUnsupported,
        fmt::format("'{}' cannot be written through a cache, which keeps a file '{}' of its "
                    "own beside each container: give it another name, or use cache=off",
                    final_name, base_of(final_name)));
  // The daemon has it under a longer one first.
  constexpr std::size_t kLonger = 64;
  if (final_name.size() + kLonger > PATH_MAX)
    return fail(os_error(ENAMETOOLONG, "create, through a cache, of", final_name));
  const std::string folder = folder_of(final_name);
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return fail(os_error(errno, "access to the folder of", final_name));
  std::optional<Identity> first;
  struct stat about{};
  if (::stat(final_name.c_str(), &about) == 0) {
    if (exclusive) return fail(os_error(EEXIST, "create of", final_name));
    if (S_ISDIR(about.st_mode)) return fail(os_error(EISDIR, "create of", final_name));
    if (!S_ISREG(about.st_mode))
      return fail(
          Code::kUnsupported,
          fmt::format("'{}' is no regular file: it cannot be written through a cache", final_name));
    BENTO_ASSIGN(const auto file, open_posix_file(final_name, OpenMode::kReadWrite));
    if (is_locked(*file) || is_locked_by_hdf5(*file))
      return fail(Code::kBusy,
                  fmt::format("'{}' is open for writing in another process", final_name), EBUSY);
    BENTO_TRY(check_is_no_part(*file, open_posix_file));
    BENTO_ASSIGN(first, find_identity(*file));
  }
  for (std::uint32_t part = 1; part < files; ++part)
    BENTO_TRY(check_part_place(final_name, part, first));
  return {};
}

namespace {

Result<CachedCopy> try_to_begin(const std::string& cache, const std::string& final_name,
                                const std::string& id, std::uint64_t room) {
  BENTO_ASSIGN(CacheFolder folder, CacheFolder::make(cache, final_name));
  const auto begin = [&]() -> Result<std::string> {
    for (const std::uint64_t number : folder.copies())
      if (state_of_copy(folder.copy(number)) == CopyState::kWritten)
        return fail(Code::kBusy,
                    fmt::format("'{}' is open for writing in another process, in the cache ('{}')",
                                final_name, folder.copy(number)),
                    EBUSY);
    BENTO_TRY(folder.remove_unfinished());
    BENTO_ASSIGN(const std::uint64_t free, free_bytes(folder.path()));
    if (free < room)
      return fail(Code::kNoSpace,
                  fmt::format("the cache '{}' is full: {} bytes are free", cache, free), ENOSPC);
    return folder.add(id);
  };
  auto path = begin();
  if (!path) {
    folder.remove_if_empty();
    return fail(std::move(path).error());
  }
  return CachedCopy{std::move(folder), std::move(*path), final_name, id};
}

}  // namespace

Result<CachedCopy> begin_copy(const std::string& cache, const std::string& final_name,
                              const std::string& id, std::uint64_t room) {
  auto begun = try_to_begin(cache, final_name, id, room);
  if (begun || begun.error().os_errno != ENOSPC) return begun;
  remove_abandoned(cache);
  return try_to_begin(cache, final_name, id, room);
}

Result<CachedCopy> begin_share(const std::string& cache, const std::string& final_name,
                               const std::string& id, std::uint64_t room, const Share& share) {
  if (const std::string there = copy_with_id(cache, final_name, id); !there.empty())
    return fail(Code::kInvalidArgument,
                fmt::format("cache={} is one folder for some of the nodes, and not for all of them "
                            "('{}' is there already): it must be one folder for all ranks, or "
                            "another one on each node",
                            cache, there));
  BENTO_ASSIGN(CachedCopy copy, begin_copy(cache, final_name, id, room));
  if (auto said = set_share(copy.path, share); !said) {
    forget_copy(copy);
    return fail(std::move(said).error());
  }
  return copy;
}

void forget_copy(CachedCopy& copy) {
  (void)copy.folder.remove(number_of_copy(copy.path));
  copy.folder.remove_if_empty();
}

bool has_note(const std::string& name) {
  const auto final_name = final_name_of(name);
  struct stat about{};
  return final_name && ::lstat(note_name(*final_name).c_str(), &about) == 0;
}

Result<std::optional<CachedCopy>> newest_copy(const std::string& name) {
  // Where there is no folder, there is no note; the open says so in its own words.
  const auto final_name = final_name_of(name);
  if (!final_name) return std::optional<CachedCopy>();
  constexpr int kTries = 100;  // it may arrive, or be written anew, at any moment
  for (int tries = 0;; ++tries) {
    BENTO_ASSIGN(const auto note, read_note(*final_name));
    if (!note) return std::optional<CachedCopy>();
    BENTO_ASSIGN(auto folder, CacheFolder::of_copy(note->copy));
    BENTO_ASSIGN(const auto now, read_note(*final_name));
    const bool same = now && now->copy == note->copy && now->id == note->id;
    if (const std::string share = share_here(*final_name, *note); same && !share.empty()) {
      BENTO_ASSIGN(folder, CacheFolder::of_copy(share));
      if (folder && id_of_copy(share) == note->id)
        return std::optional<CachedCopy>(
            CachedCopy{std::move(*folder), share, *final_name, note->id});
      continue;
    }
    if (same && folder && is_here(*note))
      return std::optional<CachedCopy>(
          CachedCopy{std::move(*folder), note->copy, *final_name, note->id});
    if (same || tries == kTries) return fail(elsewhere(*final_name, *note));
  }
}

Status check_whole(const CachedCopy& copy) {
  const Share share = share_of_copy(copy.path);
  if (share.count == 0) return {};
  return fail(
      Code::kNotFound,
      fmt::format("'{}': its newest state has not arrived yet. It is in the caches of {} "
                  "nodes, of which each has a share ('{}' is share {}), so that it can be "
                  "opened only when it has arrived (h5bento transfer wait). If the program "
                  "that wrote it was killed: h5bento transfer submit '{}' on each of these "
                  "nodes (errno = {})",
                  copy.final_name, share.count, copy.path, share.index, copy.final_name, ENOENT),
      ENOENT);
}

namespace {

/// Wished now, or when the copy was created.
Result<Arrive> wished_arrival(const std::string& final_name, const std::string& path,
                              const FlushWish& wish) {
  if (wish.arrive) return *wish.arrive;
  BENTO_ASSIGN(const auto note, read_note(final_name));
  return arrive_of(note && note->copy == path ? note->arrive : "");
}

}  // namespace

std::string transfer_file_for(const std::string& copy) {
  std::string usual = default_transfer_file();
  if (DaemonLock::sees(usual, root_file_of_copy(copy))) return usual;
  return fmt::format("{}/transfer-{}.scrinfo", folder_of(folder_of(folder_of(copy))), ::geteuid());
}

namespace {

/// What older shares of this name have brought to it; those of `id` stay.
void remove_parts(const std::string& final_name, const std::string& id) {
  const std::string folder = folder_of(final_name);
  if (const auto place = open_at(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, 0, folder))
    PartsFolder::remove_others(place->get(), final_name, id);
}

}  // namespace

Status note_copy(const std::string& final_name, const std::string& path, const FlushWish& wish) {
  BENTO_ASSIGN(const Arrive arrive, wished_arrival(final_name, path, wish));
  return write_note(final_name, {path, id_of_copy(path), host_name(), transfer_file_for(path),
                                 wish.evict, std::string(arrive_name(arrive))});
}

namespace {

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

}  // namespace

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
    BENTO_TRY(remove_note(final_name, path));
    if (arrive != Arrive::kContainer)
      fmt::print(stderr,
                 "h5bento: warning: '{}' was written directly, as the container that it "
                 "is; {} makes of it what arrive={} wants\n",
                 final_name, arrive == Arrive::kNative ? "'h5bento export'" : "'h5bento defrag'",
                 arrive_name(arrive));
    for (const std::uint64_t number : folder.copies()) BENTO_TRY(folder.remove(number));
    folder.remove_if_empty();
    return true;
  }
  if (!wish.submit) return false;
  remove_parts(final_name, id_of_copy(path));
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

namespace {

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
  return started;
}

}  // namespace

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

Status discard_copies(const std::string& name) {
  const auto final_name = final_name_of(name);
  if (!final_name) return {};
  BENTO_ASSIGN(const auto seen, read_note(*final_name));
  if (!seen) return {};
  BENTO_ASSIGN(auto folder, CacheFolder::of_copy(seen->copy));
  BENTO_ASSIGN(const auto note, read_note(*final_name));
  if (!note) return {};
  // Of another node: without its note it does not arrive.
  if (!folder || note->copy != seen->copy || !is_here(*note)) {
    remove_parts(*final_name, {});
    return remove_note(*final_name, note->copy);
  }
  if (state_of_copy(note->copy) == CopyState::kWritten)
    return fail(Code::kBusy,
                fmt::format("'{}' is open for writing in another process, in the cache ('{}')",
                            *final_name, note->copy),
                EBUSY);
  BENTO_TRY(withdraw(note->transfer_file, *final_name));
  BENTO_TRY(remove_note(*final_name, note->copy));
  remove_parts(*final_name, {});
  for (const std::uint64_t number : folder->copies()) BENTO_TRY(folder->remove(number));
  folder->remove_if_empty();
  return {};
}

Result<std::optional<CacheFolder>> hold_wanted(const Entry& master) {
  BENTO_ASSIGN(auto folder, CacheFolder::of_copy(master.source));
  BENTO_ASSIGN(const auto note, read_note(master.destination));
  if (note && note->copy == master.source && is_here(*note)) return folder;
  return fail(
      Code::kExists,
      fmt::format("'{}' does not get the name '{}': {}", master.source, master.destination,
                  note ? fmt::format("a newer state is in the cache of node '{}' ('{}')",
                                     note->host, note->copy)
                       : fmt::format("the note '{}' was removed", note_name(master.destination))));
}

Status settle_copy(const Entry& master) {
  BENTO_ASSIGN(auto folder, CacheFolder::of_copy(master.source));
  if (!folder) return remove_note(master.destination, master.source);
  const std::uint64_t number = number_of_copy(master.source);
  // Whoever began to take it away died, and has left the folder, or a part of what lay in it.
  const bool gone = ::access(master.source.c_str(), F_OK) != 0 && errno == ENOENT;
  if (gone && (folder->copies().empty() || folder->final_name() == master.destination)) {
    BENTO_TRY(remove_note(master.destination, master.source));
    BENTO_TRY(folder->remove(number));
    folder->remove_if_empty();
    return {};
  }
  if (folder->final_name() != master.destination ||
      state_of_copy(master.source) == CopyState::kWritten)
    return {};
  const auto here = look_at_container(master.source);
  if (!here || !*here) return {};
  if (!master.arrive.empty()) {
    // What was made anew is another container, or none.
    if ((*here)->text() != master.root) return {};
  } else {
    const auto there = look_at_container(master.destination);
    if (!there || !*there) return {};
    // What has come together from several nodes got its view afterwards: it is a session older.
    const bool same = master.shares > 1 ? (*here)->file_id == (*there)->file_id : *here == *there;
    if (!same) return {};
  }
  BENTO_TRY(remove_note(master.destination, master.source));
  if (master.evict && master.keep == 0) {
    BENTO_TRY(folder->remove(number));
    folder->remove_if_empty();
    return {};
  }
  BENTO_TRY(CacheFolder::set_arrived(master.source));
  if (!master.evict) return {};
  BENTO_TRY(keep_arrived(*folder, master.keep));
  folder->remove_if_empty();
  return {};
}

}  // namespace bento::transfer
