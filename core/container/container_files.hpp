// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The physical files of an open container, and the lock on the first: each is opened when it is
/// needed, and held against what it must be. This is the one place where a rank opens one that
/// exists. Task-local but for share_lock().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/comm/communicator.hpp"
#include "core/comm/own_group.hpp"
#include "core/container/container_state.hpp"
#include "core/container/session_failures.hpp"
#include "core/io/file.hpp"
#include "core/io/file_lock.hpp"
#include "core/layout/identity.hpp"

namespace bento {

class ContainerFiles {
 public:
  /// Both must outlive this.
  ContainerFiles(ContainerState& state, SessionFailures& failures)
      : state_(&state), failures_(&failures) {}

  /// Opens physical file `index` if this rank has not. Errors: kCorrupt (it is another one than the
  /// container's), kNotFound, kPermission, kIo.
  Result<File*> file(std::uint32_t index);
  /// The one in which this rank's node has the streams of physical file `index`: the same, unless
  /// the container is spread over nodes. Errors: as file().
  Result<File*> stream_file(std::uint32_t index) {
    if (state_->options.spread) return spread_file(index);
    if (File* const open = opened(index)) return open;
    return file(index);
  }
  /// Null if this rank has not opened it.
  [[nodiscard]] File* opened(std::uint32_t index) const {
    return index < files_.size() ? files_[index].get() : nullptr;
  }
  /// Takes over one that the owner has made.
  void adopt(std::uint32_t index, std::unique_ptr<File> handle);
  /// Takes over physical file 0, in which the owner has found the root, if it is of that root.
  /// Errors: kCorrupt, kIo.
  Status adopt_first(std::unique_ptr<File> first);
  [[nodiscard]] bool none_opened() const { return files_.empty(); }
  /// Forgets them without a word.
  void drop() {
    files_.clear();
    streams_.clear();
  }
  /// Closes them and gives the lock back. Errors: the first of a file; all are closed then, too.
  Status close();

  /// What a reader finds in the files has to be of the state's root from now on.
  void expect_root();
  /// Goes on with a newer root.
  void follow_root(const Root& next);
  /// Apparent size of all physical files. Errors: as file().
  Result<std::uint64_t> room();

  /// With durability=power: what was written to this physical file so far is on the device. A
  /// failure ends the session's commits.
  Status make_durable(File& handle);
  /// The same for the names of new files.
  Status make_names_durable();

  /// Locks physical file 0 as its only writer. Errors: as FileLock::take_alone().
  Status take_lock(File& first);
  void drop_lock() { lock_.reset(); }
  /// The lock, for who locks another file first and lets this one go then.
  std::unique_ptr<FileLock> give_lock() { return std::move(lock_); }
  /// Has a program without h5bento the locked file open for reading?
  Result<bool> others_read() { return lock_ ? lock_->others_read() : Result<bool>(false); }
  /// Shares the owner's lock among all ranks, if the container is open for writing. `mine`: how
  /// this rank's part of the open went so far. Collective. Errors, equal on all ranks: as bento's
  /// share_lock(); without its lock a rank must write nothing.
  Status share_lock(Communicator& comm, const OwnGroup& node, const Status& mine);
  /// What the user should know of the lock on rank 0, empty if it does all that it can.
  [[nodiscard]] const std::string& lock_warning() const { return lock_warning_; }

 private:
  Result<File*> spread_file(std::uint32_t index);
  Status check_identity(File& handle, std::uint32_t index);

  ContainerState* state_;
  SessionFailures* failures_;
  PartRule rule_;                   ///< what a reader's files must be
  std::unique_ptr<FileLock> lock_;  ///< given back after the files are closed
  std::string lock_warning_;
  std::vector<std::unique_ptr<File>> files_;
  std::vector<std::unique_ptr<File>> streams_;  ///< of a container that is spread over nodes
};

}  // namespace bento
