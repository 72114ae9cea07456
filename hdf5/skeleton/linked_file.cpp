// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/skeleton/linked_file.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/base/quiet_errors.hpp"

namespace bento::vol {

namespace {

// Never destroyed: the library may close files after static destructors have run.
RefusedWrites& refused() {
  static auto* const instance = new RefusedWrites;
  return *instance;
}

/// Does the file hold these bytes already? The library writes the superblock of a file that it
/// closes, also where nothing was changed.
bool holds_already(H5FD_t* file, H5FD_mem_t type, hid_t dxpl, haddr_t address, size_t size,
                   const void* buffer) {
  std::vector<std::byte> there(size);
  const QuietErrors quiet;
  const ErrorStackKeeper keep;
  return H5FDread(file, type, dxpl, address, size, there.data()) >= 0 &&
         std::memcmp(there.data(), buffer, size) == 0;
}

std::string refusal_of(const SkeletonFile& me) {
  return fmt::format(
      "'{}': an ordinary file cannot be changed through a link by a program of {} ranks, since "
      "they do not know of each other there: nothing is written; open the file by its own name",
      me.plain_name, me.parent->ranks());
}

}  // namespace

// As natively: who writes a file has it for itself, who reads it shares it. The ranks of a parallel
// program each have the linked file open, and cannot change it. The library opens a file that is
// open already once more, before it finds that out.
PlainLock linked_lock(const char* name, unsigned flags, const SkeletonHost& parent) {
  const FileIdentity wanted = identity_of_name(name);
  for (const auto* const file : open_skeleton_files())
    if (file->plain != nullptr && same_inode(file->plain_identity, wanted) &&
        file->process == ::getpid())
      return PlainLock::kHeldAlready;
  const bool writes = (flags & H5F_ACC_RDWR) != 0 && parent.ranks() == 1;
  return writes ? PlainLock::kExclusive : PlainLock::kShared;
}

// Each rank has the ordinary file open by itself, with metadata and chunks of its own in memory:
// what one writes of them would overwrite what another wrote. The library does not take an error
// well where it closes a file. So the bytes are dropped, and who calls the library looks at the
// count.
herr_t write_linked(SkeletonFile& me, H5FD_mem_t type, hid_t dxpl, haddr_t address, size_t size,
                    const void* buffer) {
  if (me.parent->ranks() == 1) return H5FDwrite(me.plain, type, dxpl, address, size, buffer);
  return guard<herr_t>("write through a link", [&]() -> Status {
    if (holds_already(me.plain, type, dxpl, address, size, buffer)) return {};
    auto& dropped = refused();
    ++dropped.count;
    dropped.last = refusal_of(me);
    if (!std::exchange(me.refused, true)) fmt::print(stderr, "h5bento: {}\n", dropped.last);
    me.parent->note_refused_change(dropped.last);
    return {};
  });
}

const RefusedWrites& refused_writes() {
  return refused();
}

bool refuses_plain_changes(unsigned long fileno) {
  const auto& open = open_skeleton_files();
  return std::any_of(open.begin(), open.end(), [&](const SkeletonFile* file) {
    return file->plain != nullptr && file->pub.fileno == fileno && file->parent->ranks() > 1;
  });
}

Status refuse_plain_change(unsigned long fileno) {
  for (const auto* const file : open_skeleton_files()) {
    if (file->plain == nullptr || file->pub.fileno != fileno || file->parent->ranks() == 1)
      continue;
    std::string why = refusal_of(*file);
    file->parent->note_refused_change(why);
    return fail(Code::kPermission, std::move(why));
  }
  return {};
}

bool any_plain_file() {
  const auto& open = open_skeleton_files();
  return std::any_of(open.begin(), open.end(),
                     [](const SkeletonFile* file) { return file->plain != nullptr; });
}

}  // namespace bento::vol
