// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// One daemon for each transfer file: a lock on NAME.daemon, which ends with its process.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "transfer/descriptor.hpp"

namespace bento::transfer {

/// The lock that a daemon holds, made together with its file.
class DaemonLock {
 public:
  /// Nothing if a daemon runs. Errors: kPermission, kNotFound, kIo.
  static Result<std::optional<DaemonLock>> take(const std::string& transfer_file);
  /// Does a daemon hold it? Makes no file.
  static bool held(const std::string& transfer_file);
  /// Is the one that holds it about to end, and takes up nothing more? Makes no file.
  static bool ending(const std::string& transfer_file);
  /// Opens what say_ending() says it with, while the lock is held. Errors: kPermission, kIo.
  static Result<Descriptor> open_mark(const std::string& transfer_file);
  /// May be called in a signal handler.
  static void say_ending(const Descriptor& mark);
  /// Would a daemon for this transfer file find what this process finds under a name? True also if
  /// none runs. Makes no file.
  static bool sees(const std::string& transfer_file, const std::string& path);

 private:
  explicit DaemonLock(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

}  // namespace bento::transfer
