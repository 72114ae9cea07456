// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/settle.hpp"

#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "core/layout/replace.hpp"
#include "transfer/cache_note.hpp"
#include "transfer/source.hpp"

namespace bento::transfer {

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
