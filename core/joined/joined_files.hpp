// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The physical files of a joined container, as one process has them open: how they are laid out,
/// checked, made longer, and made a SION container when nobody writes any more. Takes no locks: who
/// calls what changes something holds the gate (core/joined/join_locks.hpp). Not collective.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/io/file.hpp"
#include "core/joined/slot.hpp"
#include "core/layout/names.hpp"
#include "core/layout/plan.hpp"
#include "core/layout/root.hpp"
#include "core/layout/superblock.hpp"

namespace bento {

/// What lies where a joined container is looked for.
enum class JoinedState {
  kNothing,  ///< an empty file, or one whose layout was cut off before anybody could use it
  kJoined,
};
/// Errors: kExists (another file, which must not be lost: says what it is), kUnsupported (a newer
/// format), kIo.
Result<JoinedState> joined_state(File& first);

/// What stock HDF5 sees of a physical file.
enum class JoinedView {
  kNone,    ///< the placeholder
  kThere,   ///< the files that the streams are, as they are now
  kEdited,  ///< the same, changed by a program without the driver
};

struct JoinedLayout {
  std::uint32_t tasks = 1;
  std::uint32_t files = 1;        ///< brought down to `tasks`
  std::uint64_t chunk_bytes = 0;  ///< 0: 64 MiB, less where a block would be larger than 1 TiB
  std::string job;
};

class JoinedFiles {
 public:
  /// Makes the container anew in place of whatever `first` holds; others may use it when this has
  /// returned. Errors: kInvalidArgument (too many tasks or chunks too large), kExists (a file in
  /// the way of a further physical file), kNoSpace, kIo.
  static Result<JoinedFiles> lay_out(std::unique_ptr<File> first, const JoinedLayout& layout);
  /// Opens one that joined_state() found. Errors: kCorrupt, kIo.
  static Result<JoinedFiles> load(std::unique_ptr<File> first, bool writable);

  [[nodiscard]] const std::string& path() const { return files_.front()->path(); }
  [[nodiscard]] const Root& root() const { return root_; }
  [[nodiscard]] const ContainerPlan& plan() const { return plan_; }
  [[nodiscard]] const SessionId& layout() const { return root_.session; }
  [[nodiscard]] std::uint32_t tasks() const { return plan_.writers(); }
  [[nodiscard]] File& first() { return *files_.front(); }
  [[nodiscard]] std::unique_ptr<File> take_first() && { return std::move(files_.front()); }
  /// A physical file, held against the container when it is first opened. Errors: kNotFound,
  /// kCorrupt, kIo.
  Result<File*> file(std::uint32_t index);

  Result<Slot> slot(std::uint32_t task);
  Status write(Slot& slot);
  /// All slots in task order, until `each` returns false.
  Status visit(const std::function<bool(const Slot&)>& each);
  /// The slot of the stream with this name.
  Result<std::optional<Slot>> find(std::string_view name);
  /// The job that uses the container now.
  Result<std::string> job();
  Status set_job(const std::string& job);

  /// Makes a physical file at least `bytes` long, superblock first. Errors: kNoSpace, kIo.
  Status ensure_length(std::uint32_t index, std::uint64_t bytes);
  /// Undoes what stock HDF5 may have done to a physical file, or a process that was killed while it
  /// made it longer.
  Status restore(std::uint32_t index);
  /// SION readers refuse the file until finish(), and its native view is gone.
  Status withdraw(std::uint32_t index);
  /// Does META1 lead to a META2?
  Result<bool> finished(std::uint32_t index);
  /// META2 of all files that were withdrawn, file 0 last. Nobody may be writing.
  Status finish();

  // The native view: bytes behind everything else in a physical file, to which P leads. Whoever
  // makes it holds the gate, and nobody writes.

  Result<JoinedView> view_of(std::uint32_t index);
  /// P holds the placeholder again, and the file ends where the view began.
  Status drop_view(std::uint32_t index);
  /// Drops the view that there is. Returns where a new one begins; ensure_length() makes room.
  Result<std::uint64_t> begin_view(std::uint32_t index);
  /// The file ends at `begin` again, whatever has come of the view that begin_view() began there.
  Status give_up_view(std::uint32_t index, std::uint64_t begin);
  /// What lies from `begin` to `end` is the view from now on, and the file ends there.
  Status publish_view(std::uint32_t index, std::uint64_t begin, std::uint64_t end,
                      Superblock superblock);

 private:
  Status make_plan(const JoinedLayout& layout);
  Status begin_file(std::uint32_t index);
  Status complete_file(std::uint32_t index);
  Status make_others(const std::optional<FileId>& replaced);
  Status finish_file(std::uint32_t index, std::span<const std::uint64_t> lengths);

  ContainerNames names_;
  Root root_;
  ContainerPlan plan_;
  bool writable_ = false;
  std::vector<std::unique_ptr<File>> files_;
};

/// Makes bytes of a file read as zeros, without using space where the file system can do that.
/// Errors: kNoSpace, kIo.
Status zero_range(File& file, std::uint64_t offset, std::uint64_t bytes);

}  // namespace bento
