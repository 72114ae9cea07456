// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Finding out whether a name is a container, and the options a container is opened with.
#pragma once

#include <memory>
#include <string>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/config/config.hpp"
#include "core/container/container.hpp"
#include "core/io/file.hpp"
#include "vol/file/file_context.hpp"

namespace bento::vol {

ContainerOptions container_options(const Config& config, hid_t fapl);
/// For tests and copies: what all containers of this process are opened with from now on, instead
/// of open_posix_file. Not thread-safe; task-local.
void set_file_opener(FileOpener opener);

/// Tells the user, once for each file system, what is wrong with its locks; on rank 0, if anything.
void warn_of_locks(const std::string& name, const Container& container);

/// Tells the user, once, why ranks do not see each other's writes before they are committed, though
/// visible=write holds; on rank 0.
void tell_of_visibility(const std::string& name, const Container& container);

/// Does the file hold a valid root of ours? Missing files do not. Errors: kUnsupported (a newer
/// format version), kCorrupt and kInvalidArgument (refuse_damaged()). Task-local.
Result<bool> is_ours(const char* name);
/// After a create that has failed on all ranks, which each give back their part of the lock:
/// returns when the file is free, so that rank 0 may create it anew by itself, or after some
/// seconds.
void await_unlocked(const std::string& path);
/// Is the file a container, one of which is_ours() gives an error included, or is there a newer one
/// of this name in a cache? Task-local.
bool is_container(const char* name);
/// Before the native connector creates a file of this name, whatever is there, with these flags of
/// H5Fcreate. Task-local. Errors: kBusy (it is a container that a process has open for writing),
/// those of transfer::check_can_discard().
Status check_may_replace(const char* name, unsigned flags);
/// Are files that are written locked? Task-local.
Locking locking_wanted(hid_t fapl);
/// H5Fdelete: removes all physical files of a container; false if the file is none. Collective for
/// mpio, where rank 0 acts for all, as natively. Errors: kBusy (open for writing somewhere),
/// kPermission, kPeer.
Result<bool> delete_container(const char* name, hid_t fapl);

/// The hook for containers that native code reaches through external links. Read-only in parallel
/// programs, where the target is opened by single ranks.
Result<std::shared_ptr<SkeletonHost>> open_foreign(const std::string& name, unsigned flags,
                                                   const std::shared_ptr<SkeletonHost>& parent);

}  // namespace bento::vol
