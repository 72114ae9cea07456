// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/cached_copy.hpp"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "core/layout/replace.hpp"
#include "transfer/cache_note.hpp"
#include "transfer/parts_folder.hpp"
#include "transfer/source.hpp"
#include "transfer/submit.hpp"

namespace bento::transfer {
namespace {

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
                  final_name, note.host, note.copy, this_host(), note.transfer_file,
                  note_name(final_name), ENOENT),
      ENOENT};
}

Error copied(const std::string& final_name, const CacheNote& note) {
  return Error{
      Code::kNotFound,
      fmt::format(
          "'{}': this folder is a copy of one in which the newest state of '{}' had not "
          "arrived yet. That state lies in the cache of node '{}', as '{}', and arrives as "
          "'{}' only. Open that, or copy it when it has arrived. For what is under the name "
          "here: rm '{}' (errno = {})",
          final_name, note.file, note.host, note.copy, note.file, note_name(final_name), ENOENT),
      ENOENT};
}

/// Whoever deleted or overwrote it did not mean that an older state shall count.
Status check_there(const std::string& final_name, const std::string& copy) {
  const auto seen = look_at_container(root_file_of_copy(copy));
  if (seen && *seen) return {};
  Error error = seen ? Error{Code::kCorrupt, "it is no h5bento container any more"} : seen.error();
  error.text = fmt::format(
      "'{}': its newest state has not arrived yet. It is in the cache, as '{}', which cannot be "
      "read: {}. If that copy is lost: rm '{}', and what is under the name now counts",
      final_name, copy, error.text, note_name(final_name));
  return fail(std::move(error));
}

/// Of a container that several nodes have shares of, the note names the first one's. What this node
/// has, if it has another one; empty if not.
std::string share_here(const std::string& final_name, const CacheNote& note) {
  if (is_here(note)) return {};
  const std::string cache = folder_of(folder_of(folder_of(note.copy)));
  std::string copy = copy_with_id(cache, final_name, note.id);
  return !copy.empty() && share_of_copy(copy).count > 0 ? copy : std::string{};
}

Result<CachedCopy> try_to_begin(const std::string& cache, const std::string& final_name,
                                const std::string& id, std::uint64_t room) {
  BENTO_ASSIGN(CacheFolder folder, CacheFolder::make(cache, final_name));
  const auto begin = [&]() -> Result<std::string> {
    for (const std::uint64_t number : folder.copies())
      if (state_of_copy(folder.copy(number)) == CopyState::kWritten)
        return fail(written_elsewhere(final_name, folder.copy(number)));
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

Error written_elsewhere(const std::string& final_name, const std::string& copy) {
  return Error{Code::kBusy,
               fmt::format("'{}' is open for writing in another process, in the cache ('{}')",
                           final_name, copy),
               EBUSY};
}

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
    if (note->copied) return fail(copied(*final_name, *note));
    BENTO_ASSIGN(auto folder, CacheFolder::of_copy(note->copy));
    BENTO_ASSIGN(const auto now, read_note(*final_name));
    const bool same = now && now->copy == note->copy && now->id == note->id;
    if (const std::string share = share_here(*final_name, *note); same && !share.empty()) {
      BENTO_ASSIGN(folder, CacheFolder::of_copy(share));
      if (folder && id_of_copy(share) == note->id) {
        BENTO_TRY(check_there(*final_name, share));
        return std::optional<CachedCopy>(
            CachedCopy{std::move(*folder), share, *final_name, note->id});
      }
      continue;
    }
    if (same && folder && is_here(*note)) {
      BENTO_TRY(check_there(*final_name, note->copy));
      return std::optional<CachedCopy>(
          CachedCopy{std::move(*folder), note->copy, *final_name, note->id});
    }
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

Status check_can_discard(const std::string& name, bool exclusive) {
  const auto final_name = final_name_of(name);
  if (!final_name) return {};
  BENTO_ASSIGN(const auto note, read_note(*final_name));
  if (!note || note->copied) return {};
  if (exclusive) return fail(os_error(EEXIST, "create (its newest state is in a cache) of", name));
  if (is_here(*note) && state_of_copy(note->copy) == CopyState::kWritten)
    return fail(written_elsewhere(*final_name, note->copy));
  return {};
}

Status discard_copies(const std::string& name) {
  const auto final_name = final_name_of(name);
  if (!final_name) return {};
  BENTO_ASSIGN(const auto seen, read_note(*final_name));
  if (!seen) return {};
  if (seen->copied) return remove_note(*final_name, seen->copy);
  BENTO_ASSIGN(auto folder, CacheFolder::of_copy(seen->copy));
  BENTO_ASSIGN(const auto note, read_note(*final_name));
  if (!note) return {};
  // Of another node: without its note it does not arrive.
  if (!folder || note->copy != seen->copy || !is_here(*note)) {
    PartsFolder::remove_others(*final_name, {});
    return remove_note(*final_name, note->copy);
  }
  if (state_of_copy(note->copy) == CopyState::kWritten)
    return fail(written_elsewhere(*final_name, note->copy));
  // Whoever dies behind this leaves something that the next create removes.
  BENTO_TRY(CacheFolder::set_superseded(note->copy));
  BENTO_TRY(withdraw(note->transfer_file, *final_name));
  BENTO_TRY(remove_note(*final_name, note->copy));
  PartsFolder::remove_others(*final_name, {});
  BENTO_TRY(folder->remove_older(note->copy));
  BENTO_TRY(folder->remove(number_of_copy(note->copy)));
  folder->remove_if_empty();
  return {};
}

}  // namespace bento::transfer
