// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A container that processes join one by one, each with an HDF5 file of its own as its stream.
/// Nothing here is collective, and no process waits for another one but at the gate. One object per
/// process and container, shared by all streams that the process has open there. Not thread-safe:
/// HDF5 calls its drivers one at a time. Source: docs/vfd.md, "Joining".
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/base/error.hpp"
#include "core/io/private_descriptor.hpp"
#include "core/joined/join_locks.hpp"
#include "core/joined/joined_files.hpp"

namespace bento {

class JoinedStream;

/// Who joins what.
struct JoinRequest {
  std::string container;    ///< its name
  std::string file;         ///< name of the HDF5 file, as the program gave it
  std::uint32_t rank = 0;   ///< of this process
  std::uint32_t size = 1;   ///< processes of the job
  std::string job;          ///< empty: the job has no name, and nothing is ever laid out anew
  std::uint32_t files = 1;  ///< physical files of a new container
  std::uint64_t chunk = 0;  ///< of a new container; 0: 64 MiB
  double timeout = 300;     ///< seconds at the gate
  /// Called by who leaves last, while all others wait, where there is no native view.
  std::function<void(JoinedFiles& files)> when_finished;
};

enum class JoinAccess {
  kRead,
  kWrite,     ///< an existing stream
  kTruncate,  ///< an existing one emptied, or a new one
  kNew,       ///< fails if there is one
};

inline bool creates(JoinAccess access) {
  return access == JoinAccess::kTruncate || access == JoinAccess::kNew;
}

/// The name under which a container knows a file: relative to the container's folder, so that both
/// can be moved together. Folders are resolved as far as they exist.
std::string name_in_container(const std::string& container, const std::string& file);

/// Joins, and opens or creates this process's stream. A stream that is only opened changes nothing
/// before its first write.
/// Errors: kNotFound (no container, or no such stream in it), kExists (kNew; another rank of the
/// job has the name; another file has the container's name), kBusy (the stream, or a container that
/// had to be laid out anew, is in use), kInvalidArgument (no stream for this rank: says why),
/// kUnsupported (no locks), kCorrupt, kNoSpace, kPermission, kIo.
Result<std::shared_ptr<JoinedStream>> join(const JoinRequest& request, JoinAccess access);

/// Removes a stream, and the container with the last one. Errors: as join() with kWrite.
Status remove_stream(const JoinRequest& request);

class JoinedContainer : public std::enable_shared_from_this<JoinedContainer> {
 public:
  JoinedContainer(std::unique_ptr<File> first, JoinLocks locks, bool writable,
                  const JoinRequest& request);

  Result<std::shared_ptr<JoinedStream>> join(const JoinRequest& request, JoinAccess access);
  Status remove(const JoinRequest& request);

  [[nodiscard]] JoinedFiles& files() { return *files_; }
  [[nodiscard]] bool writable() const { return writable_; }
  /// Is this a forked child? It changes nothing.
  [[nodiscard]] bool elsewhere() const { return home_.elsewhere(); }

  // What streams ask for. All of them pass the gate.

  /// The stream's first change: SION readers refuse the container from here on.
  Status begin_writing(Slot& slot);
  Status ensure_length(std::uint32_t index, std::uint64_t bytes);
  /// A reader's lock. False: somebody writes the stream.
  Result<bool> lock_for_reading(std::uint32_t task);
  /// The last stream to leave makes a SION container of it.
  Status leave(Slot& slot, bool changed);

 private:
  class Gate;
  enum class Entered { kReady, kReplaced, kWait };

  Status enter_gate();
  Result<Entered> enter(const JoinRequest& request, JoinAccess access);
  Result<Entered> load_or_lay_out(const JoinRequest& request, JoinAccess access);
  Result<Entered> lay_out_new(const JoinedLayout& layout, JoinAccess access);
  [[nodiscard]] bool in_use_by_us() const;
  void unload();
  Status join_writers();
  void leave_writers();
  /// Was this process the last one that might write?
  Result<bool> finish_if_last();
  Status tell_finished();
  Status withdraw(const Slot& slot);
  Result<std::optional<Slot>> find(const std::string& name, std::uint32_t rank);
  Result<Slot> slot_to_create(const JoinRequest& request, JoinAccess access,
                              const std::optional<Slot>& found, const std::string& name);
  Result<std::shared_ptr<JoinedStream>> open_found(Slot slot, JoinAccess access);
  Result<std::shared_ptr<JoinedStream>> create_stream(const JoinRequest& request, JoinAccess access,
                                                      const std::optional<Slot>& found,
                                                      const std::string& name);
  [[nodiscard]] static Error in_use(const std::string& name);
  [[nodiscard]] static Error no_entry(std::string text);

  std::unique_ptr<File> first_;  ///< until it is known what it is
  std::optional<JoinedFiles> files_;
  JoinLocks locks_;
  bool writable_ = false;
  std::string job_;
  double timeout_ = 300;
  std::function<void(JoinedFiles&)> when_finished_;
  int gate_depth_ = 0;
  int writers_ = 0;  ///< streams of this process that may write
  std::map<std::uint32_t, std::weak_ptr<JoinedStream>> streams_;
  HomeProcess home_;
};

}  // namespace bento
