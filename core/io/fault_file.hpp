// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Files that fail on demand, over those of any FileOpener: an error at the n-th call, a process
/// that dies in the middle of a write, a machine that loses what was not synced. For tests. Stack
/// two of them when the ranks of one container die one by one but lose power together.
#pragma once

#include <cerrno>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>

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
  std::string path_contains = {};  ///< only files with this in their name; empty: all

  static constexpr std::uint64_t kWhole = std::numeric_limits<std::uint64_t>::max();
};

struct FaultCounts {
  std::uint64_t writes = 0;
  std::uint64_t syncs = 0;
  std::uint64_t truncates = 0;
  [[nodiscard]] std::uint64_t changes() const { return writes + syncs + truncates; }
};

/// Thread-safe; copies share the state.
class FaultFileSystem {
 public:
  explicit FaultFileSystem(FileOpener below);

  [[nodiscard]] FileOpener opener() const;

  void add(FaultRule rule) const;
  /// Forgets all rules; counts go on.
  void clear_rules() const;
  /// Calls that reached the files below, complete or torn.
  [[nodiscard]] FaultCounts counts() const;
  [[nodiscard]] bool dead() const;

  /// A new process: files may be opened again. Those opened before stay dead, and the rules are
  /// gone.
  void restart() const;

  /// The machine stops: every change that no sync of its file followed is undone, newest first, and
  /// `restart` is implied. `keeps(i)`, if given, says whether the i-th unsynced change had reached
  /// the disk after all; a real disk may keep any of them. Names of files are always kept. Errors:
  /// whatever the files below answer.
  Status power_loss(const std::function<bool(std::size_t)>& keeps = {}) const;
  /// Changes that a power loss would undo now.
  [[nodiscard]] std::size_t unsynced() const;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace bento
