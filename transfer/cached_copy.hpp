// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Copies of containers in a cache: made, found, and taken away by a program. Everything here is
/// done by one process, rank 0 of those that have the file open (begin_share(): the first rank of
/// its node). A CacheFolder that is handed out is locked until it is destroyed. Source:
/// docs/transfer.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/error.hpp"
#include "transfer/cache_folder.hpp"
#include "transfer/share.hpp"

namespace bento::transfer {

/// A container in a cache that is about to be created or opened.
struct CachedCopy {
  CacheFolder folder;
  std::string path;        ///< of the container
  std::string final_name;  ///< where it shall arrive
  std::string id;
};

/// What a program is told that would write the same file as another one.
Error written_elsewhere(const std::string& final_name, const std::string& copy);

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
/// name. Errors: kNotFound (it is in a cache that this node does not have: says where), kCorrupt
/// (its file there is no container any more), those of look_at_container.
Result<std::optional<CachedCopy>> newest_copy(const std::string& name);
/// A container of which each of several nodes has a share can be opened by nobody before it has
/// arrived. Errors: kNotFound, saying so.
Status check_whole(const CachedCopy& copy);
/// Is there a note for this name, whatever it says? Costs one look.
bool has_note(const std::string& name);

/// Could discard_copies() do so? Asked before the file is created under its own name, or deleted,
/// so that nothing is lost if that fails. Errors: kExists (there is such a state, and the create is
/// `exclusive`), kBusy (a program writes to it).
Status check_can_discard(const std::string& name, bool exclusive);
/// The newest state of this name is not wanted any more: takes it back from the daemon, and removes
/// it. In the cache of another node it stays, and does not arrive. Errors: kBusy (a program writes
/// to it).
Status discard_copies(const std::string& name);

}  // namespace bento::transfer
