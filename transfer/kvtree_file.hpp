// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A KVTree file that several programs read and change, SCR's own among them: under a lock on the
/// file itself (flock, as SCR does), which is therefore never replaced by a rename. A change writes
/// NAME.next whole and syncs it, then writes the file in place, syncs it, and removes NAME.next; so
/// one of the two is whole wherever a program dies, and the next of ours that comes brings the file
/// in order. Source: docs/transfer.md.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "core/base/error.hpp"
#include "transfer/descriptor.hpp"
#include "transfer/kvtree.hpp"

namespace bento::transfer {

/// How long to wait for a lock that another program holds, which keeps it for milliseconds.
inline constexpr std::chrono::milliseconds kLockWait(60'000);

/// The file, open and locked. Whoever has one is alone with the file.
class LockedKvFile {
 public:
  /// Opens the file, makes it if it is missing, and waits for the lock. Mends a file of which a
  /// write was torn. Errors: kBusy (the lock was not free in time), kCorrupt (torn, and NAME.next
  /// cannot mend it), kPermission, kNotFound (the folder), kNoSpace, kIo.
  static Result<LockedKvFile> open(const std::string& path,
                                   std::chrono::milliseconds wait = kLockWait);

  /// What the file holds, to look at and to change.
  [[nodiscard]] KvTree& tree() { return tree_; }
  /// Writes the tree, if it was changed. Durable when it returns. Errors: as open(); the file then
  /// holds what it held, or NAME.next mends it.
  Status store();

 private:
  LockedKvFile(Descriptor file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}
  Status load();
  Status write_in_place(std::span<const std::byte> bytes);

  Descriptor file_;
  std::string path_;
  std::vector<std::byte> stored_;  ///< what the file holds
  KvTree tree_;
};

/// Opens, lets `change` work on the tree, and stores. An error of `change` stores nothing.
Status update_kvfile(const std::string& path, const std::function<Status(KvTree&)>& change);

/// What a file holds, under the lock; makes no file. Mends it as LockedKvFile does where this user
/// may write. Errors: kNotFound, kCorrupt, kBusy, kPermission, kIo.
Result<KvTree> read_kvfile(const std::string& path);

}  // namespace bento::transfer
