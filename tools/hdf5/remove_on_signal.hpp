// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Ctrl-C in the middle of a command leaves nothing unfinished behind.
#pragma once

#include <csignal>
#include <mutex>
#include <string>
#include <thread>

namespace bento::tools {

/// While it lives, SIGINT, SIGTERM and SIGHUP remove a file, or a folder with all that is in it,
/// before they end the process as they would without it. Those that the process ignores stay
/// ignored. Made before other threads, which inherit that they do not take these signals.
class RemoveOnSignal {
 public:
  explicit RemoveOnSignal(std::string path);
  ~RemoveOnSignal();
  RemoveOnSignal(const RemoveOnSignal&) = delete;
  RemoveOnSignal& operator=(const RemoveOnSignal&) = delete;

  /// While this lives, a folder may be renamed: its files are not being removed meanwhile. Does not
  /// come back if they are.
  [[nodiscard]] std::unique_lock<std::mutex> before_rename() { return std::unique_lock(renames_); }

 private:
  void wait();

  std::string path_;
  sigset_t signals_{};
  sigset_t before_{};
  int end_ = -1;  ///< an eventfd: the thread may end
  std::mutex renames_;
  std::thread thread_;
};

}  // namespace bento::tools
