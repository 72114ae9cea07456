// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/settle.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include <fmt/format.h>

#include "core/layout/replace.hpp"
#include "transfer/cache_note.hpp"
#include "transfer/descriptor.hpp"
#include "transfer/file_stamp.hpp"
#include "transfer/source.hpp"

namespace bento::transfer {
namespace {

/// What somebody has put under the name after the program closed the file would be lost.
Status check_not_replaced(const Entry& master, const CacheNote& note) {
  if (!note.before) return {};
  const std::string path = folder_of(master.destination);
  BENTO_ASSIGN(const Descriptor folder, open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0, path));
  const std::string now = stamp_of(folder.get(), base_of(master.destination));
  if (now.empty() || now == *note.before) return {};
  return fail(Code::kExists,
              fmt::format("'{}' was written by something else after the container in the cache "
                          "('{}') was closed, and is not replaced. If it is wanted: move it away. "
                          "To bring the container to its name then, or in its place: h5bento "
                          "transfer submit '{}'",
                          master.destination, master.source, master.destination));
}

}  // namespace

Result<std::optional<CacheFolder>> hold_wanted(const Entry& master) {
  BENTO_ASSIGN(auto folder, CacheFolder::of_copy(master.source));
  BENTO_ASSIGN(const auto note, read_note(master.destination));
  if (note && note->copy == master.source && is_here(*note)) {
    BENTO_TRY(check_not_replaced(master, *note));
    return folder;
  }
  return fail(
      Code::kExists,
      fmt::format(
          "'{}' does not get the name '{}': {}", master.source, master.destination,
          note ? fmt::format("a newer state is in the cache of node '{}' ('{}')", note->host,
                             note->copy)
               : fmt::format("the note '{}' was removed. To bring it all the same: h5bento "
                             "transfer submit '{}' '{}'",
                             note_name(master.destination), master.source, master.destination)));
}

Status renew_note(const Entry& master) {
  BENTO_ASSIGN(const auto folder, CacheFolder::of_copy(master.source));
  BENTO_ASSIGN(const auto note, read_note(master.destination));
  if (!folder || !note || note->copy != master.source) return {};
  return write_note(master.destination, *note);
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
  // The folder of the final name may have been renamed since the file was created.
  BENTO_ASSIGN(const auto note, read_note(master.destination));
  const bool noted = note && note->copy == master.source;
  if ((!noted && folder->final_name() != master.destination) ||
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
  BENTO_TRY(folder->remove_older(master.source));
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
