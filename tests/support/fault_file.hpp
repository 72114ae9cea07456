// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Files that fail on demand, over those of any FileOpener: an error at the n-th call, or an
/// allocation that fails there, a process
/// that dies in the middle of a write, a machine that loses what was not synced. For tests. Stack
/// two of them when the ranks of one container die one by one but lose power together.
#pragma once

#include <cerrno>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "core/io/file.hpp"

namespace bento {

enum class FaultOn {
  kWrite,
  kSync,
  kTruncate,
  kChange,  ///< any of the three, counted together: what a crash test walks through
  kOpen,
  kRead,
  kClose,
};

/// What happens at the n-th call of a kind, counted over all files of the family from the moment on
/// when the rule is added.
struct FaultRule {
  FaultOn on = FaultOn::kChange;
  std::uint64_t nth = 1;  ///< 1 is the next one
  bool die = false;       ///< this call and all later ones fail, as if the process were gone
  bool forever = false;   ///< every call of this kind from the n-th on fails, as on a full disk
  int os_errno = EIO;
  std::uint64_t torn_at = 0;  ///< so many bytes of the n-th write still arrive; kWhole: all of them
  bool no_memory = false;     ///< the n-th call throws std::bad_alloc and does nothing
  std::string path_contains = {};  ///< only files with this in their name; empty: all

  static constexpr std::uint64_t kWhole = std::numeric_limits<std::uint64_t>::max();
};

struct FaultCounts {
  std::uint64_t writes = 0;
  std::uint64_t syncs = 0;
  std::uint64_t truncates = 0;
  [[nodiscard]] std::uint64_t changes() const { return writes + syncs + truncates; }
};

/// What a power loss decides about, one by one, in the order in which the program did it: a write's
/// part in one 4 KiB sector, a truncate, or a new name in a folder.
struct Unsynced {
  enum class Kind { kWrite, kTruncate, kName };
  Kind kind;
  std::size_t change;     ///< counts writes, truncates and names; the parts of a write share it
  bool last;              ///< nothing unsynced was done after it
  std::string_view path;  ///< of the file
  std::uint64_t offset;   ///< of a write, in the file
  std::uint64_t bytes;    ///< of a write
};
/// How many bytes of a write's part had reached the disk; of the others, 0 or not.
using Survives = std::function<std::uint64_t(const Unsynced&)>;

/// Survival by dice, the same for the same seed. Seed 0: nothing survives. 1: everything does, the
/// last write torn inside its last sector. Others: each part does or does not, with a chance of its
/// own for each seed, and one in eight that do is torn.
Survives random_survival(std::uint64_t seed);

/// Thread-safe; copies share the state.
class FaultFileSystem {
 public:
  /// `remove`, if given, takes files away whose names a power loss takes; without it names are kept
  /// as soon as they are there.
  explicit FaultFileSystem(FileOpener below, std::function<void(const std::string&)> remove = {});

  [[nodiscard]] FileOpener opener() const;

  void add(FaultRule rule) const;
  /// Forgets all rules; counts go on.
  void clear_rules() const;
  /// Calls that reached the files below, complete or torn.
  [[nodiscard]] FaultCounts counts() const;
  [[nodiscard]] bool dead() const;
  /// Did any rule ever hit a call?
  [[nodiscard]] bool met() const;

  /// A new process: files may be opened again. Those opened before stay dead, and the rules are
  /// gone.
  void restart() const;

  /// The machine stops: what no sync followed (of the file for its bytes and its length, of the
  /// folder, opened with OpenMode::kDirectory, for its name) is undone, newest first, but for what
  /// `survives`; a real disk may keep any of it, in any order. `restart` is implied. A file that
  /// has lost its name has lost its bytes, synced or not. Errors: whatever the files below answer.
  Status power_loss(const Survives& survives = {}) const;
  /// Changes that a power loss would undo now.
  [[nodiscard]] std::size_t unsynced() const;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace bento
