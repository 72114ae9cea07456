// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How the owner's lock becomes that of all ranks that write, so that it lasts as long as any of
/// them lives. One rank of each node takes it shared and hands it to the others of its node: the
/// file system sees a lock per node, not per rank. Source: docs/architecture.md, "Locks".
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "core/comm/communicator.hpp"
#include "core/comm/own_group.hpp"
#include "core/io/file_lock.hpp"

namespace bento {

/// What a rank needs for its part.
struct LockSharing {
  Locking locking = Locking::kBestEffort;  ///< rank 0's holds
  bool hand_over = true;  ///< false: ranks that lead no node go without a lock (simulations)
  /// Opens physical file 0; called only on ranks that take a lock of their own.
  std::function<Result<File*>()> first;
  /// What the file says of the session that has it, read anew: different when another program has
  /// taken it. Called where first() is, and on rank 0.
  std::function<Result<Hash128>(File&)> session;
};

/// Shares rank 0's exclusive `lock` among all ranks, each of which has one of its own afterwards;
/// where rank 0 has none, nobody needs one. `node`: those of this rank's node. `mine` is how the
/// rank's part of the open went so far: if that or anything here fails on any rank, all ranks get
/// that error and hold no lock. Returns a warning for the user on rank 0, empty if all is well.
/// Collective: two rounds up and down the tree. Errors, equal on all ranks: kBusy (another program
/// took the file meanwhile), kIo, kPeer, and those of `mine`.
Result<std::string> share_lock(Communicator& comm, const OwnGroup& node, const Status& mine,
                               const LockSharing& sharing, std::unique_ptr<FileLock>& lock);

}  // namespace bento
