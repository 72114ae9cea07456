// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A lock in memory that the processes of a node share, for what only one of them may do at a time.
/// Whoever waits for it has a deadline, and learns it if the process that had it has died.
#pragma once

#include <string_view>

#include <pthread.h>

#include "core/base/error.hpp"

namespace bento {

class NodeLock {
 public:
  /// In memory of zeros, by one process, before any other has it. Errors: kUnsupported.
  Status make();
  /// `timeout_s` 0 waits for ever. `what` is done with it, for the error's text. Errors: kPeer (the
  /// deadline passed, or a process died with the lock; nobody gets it any more then).
  Status lock(double timeout_s, std::string_view what);
  void unlock() { ::pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_;
};

}  // namespace bento
