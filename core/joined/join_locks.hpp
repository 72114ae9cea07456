// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The locks by which processes that never talk to each other share a container: bytes far beyond
/// any data of physical file 0, locked by open file description (F_OFD_SETLK). They end with the
/// process, however it ends, and a forked child does not keep them.
///
///   writers' byte   shared by each process that may write. The connector, `repair` and a new
///   layout
///                   want it for themselves (it is the byte of core/io/file_lock.hpp)
///   gate            held for moments only: join, leave, new layout, META2. Readers take it shared
///   task t          exclusive by the writer of task t's stream, shared by its readers
///
/// flock is taken besides, shared, which keeps stock HDF5 from opening the file for writing.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/error.hpp"
#include "core/io/file.hpp"
#include "core/io/private_descriptor.hpp"

namespace bento {

class JoinLocks {
 public:
  enum class Kind { kShared, kExclusive };

  /// Opens the very file that `file` has open once more, for locks alone. Errors: kIo, kPermission.
  static Result<JoinLocks> of(const File& file, bool writable);

  /// Waits for the gate, at most `seconds` (0: for ever). Errors: kBusy (it did not become free),
  /// kUnsupported (the file system has no such locks).
  Status enter_gate(Kind kind, double seconds);
  void leave_gate();

  /// False: another process has it. Errors: kUnsupported (no such locks), kIo.
  Result<bool> try_writers();
  void leave_writers();
  /// Does another process write, or could it?
  [[nodiscard]] Result<bool> others_write() const;
  /// Does another process use any of the tasks, to read or to write?
  [[nodiscard]] Result<bool> others_use_tasks(std::uint32_t tasks) const;

  Result<bool> try_task(std::uint32_t task, Kind kind);
  void leave_task(std::uint32_t task);

  /// flock, shared. False: a program without h5bento has the file open for writing.
  Result<bool> try_flock();
  void leave_flock();

 private:
  explicit JoinLocks(PrivateDescriptor descriptor, std::string path)
      : descriptor_(std::move(descriptor)), path_(std::move(path)) {}
  Result<bool> set(std::int64_t at, Kind kind);
  void clear(std::int64_t at);
  [[nodiscard]] Result<bool> others_hold(std::int64_t at, std::int64_t bytes) const;
  [[nodiscard]] Error failed(int os_errno) const;

  PrivateDescriptor descriptor_;
  std::string path_;
};

}  // namespace bento
