// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How the ranks of a program use a cache (cache=): where a container is created or opened, and how
/// it goes to its final name when it is closed. What is done in the cache itself, rank 0 does
/// (transfer/cached_copy.hpp). Source: docs/usage.md, "Writing through a cache".
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/base/error.hpp"
#include "core/comm/communicator.hpp"
#include "core/config/config.hpp"
#include "core/io/file.hpp"

namespace bento::transfer {
struct CachedCopy;
}

namespace bento::vol {

struct AgreedFile;
struct FileRequest;
struct OpenSettings;
struct SpreadCache;

/// A container that lies in a cache.
struct CachedFile {
  std::string path;                     ///< where it is, or this node's share of it
  std::string final_name;               ///< where it shall arrive
  std::shared_ptr<SpreadCache> spread;  ///< if the cache is another folder on each node
};

/// Where a file is created or opened. On rank 0, and on the rank that has begun the share of its
/// node, the folder in the cache is locked as long as this lives: until the container is open.
struct CachePlace {
  std::optional<CachedFile> cached;  ///< nothing: under its own name
  std::shared_ptr<transfer::CachedCopy> held;

  [[nodiscard]] const char* name_or(const char* name) const {
    return cached ? cached->path.c_str() : name;
  }
};

/// Where a new container is written, as the agreed settings want it. With a full cache, unless that
/// is to fail, under its own name, which rank 0 says on stderr. Collective, but without a word
/// where neither cache= nor an unfinished copy is in play. With files=node, `file` gets their
/// number. Errors, equal on all ranks: those of a create, and of spread_over_nodes(); kNotFound (no
/// program h5bento).
Result<CachePlace> place_to_create(const FileRequest& request, AgreedFile& file);
/// What its physical files are opened with: a full cache does not fail their writes unless
/// cache_full=fail.
FileOpener opener_in(const CachedFile& file, const Config& config, FileOpener under);
/// The container could not be created there. True: it was for the cache's lack of space, and is to
/// be created under its own name. Collective without communication.
bool give_up_place(CachePlace& place, const FileRequest& request, const AgreedFile& file,
                   const Error& problem);
/// The container has been created at that place. If it is its own name, it takes the place of what
/// would arrive later. Collective where something would. Errors, equal on all ranks: as
/// transfer::discard_copies().
Status take_place_of_copies(const CachePlace& place, const FileRequest& request,
                            const AgreedFile& file);
/// A file of this name was created, which takes the place of what would arrive later. Collective.
/// Errors: as take_place_of_copies().
Status drop_copies_of(const char* name, Communicator& comm);
/// Where a container is opened, as rank 0 has found it. Collective if it is in a cache. Errors,
/// equal on all ranks: kNotFound (a rank does not see it).
Result<CachePlace> place_to_open(const FileRequest& request, const AgreedFile& file);

/// Something was committed: whoever opens the file finds it in the cache from now on. Task-local,
/// on rank 0.
Status note_committed(const CachedFile& file, const OpenSettings& settings);
/// The last close, after which the container is complete in the cache if it was `closed` well:
/// hands it over, and waits for its arrival if flush=sync. Collective. Errors, equal on all ranks
/// but for this rank's own of the close: what keeps it from arriving; it stays in the cache.
Status finish_cached(const CachedFile& file, const OpenSettings& settings, Communicator& comm,
                     const Status& closed);

}  // namespace bento::vol
