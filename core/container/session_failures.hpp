// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Why commits fail that are still to come: the next one, or all of this session. Task-local; a
/// commit tells the other ranks.
#pragma once

#include <string>
#include <utility>

#include "core/base/error.hpp"

namespace bento {

class SessionFailures {
 public:
  /// `path`: of the container, for the error.
  explicit SessionFailures(std::string path) : path_(std::move(path)) {}

  /// Keeps a failure for the next commit; the first one counts. Success changes nothing.
  void defer(Status why) {
    if (deferred_) deferred_ = std::move(why);
  }
  /// The first failure on this rank since the last commit; forgets it.
  [[nodiscard]] Status take_deferred() { return std::exchange(deferred_, Status{}); }

  /// From now on every commit fails with this; the first one counts.
  void give_up(const Status& why);
  /// Why no commit of this session can succeed any more.
  [[nodiscard]] const Status& broken() const { return broken_; }

 private:
  std::string path_;
  Status deferred_;
  Status broken_;
};

}  // namespace bento
