// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// When a file whose metadata cache evicts nothing by itself has to be told to do so.
#pragma once

#include <cstddef>

namespace bento::vol {

/// Counts the changes of metadata since the library last wrote what its cache holds. All ranks make
/// the same changes in the same order, so on all of them this is due after the same change. (The
/// size of the cache would not do: it depends on what a rank has read.)
class UnflushedChanges {
 public:
  /// `counts`: false for a file whose cache looks after itself.
  explicit UnflushedChanges(bool counts) : counts_(counts) {}
  ~UnflushedChanges() { flushed(); }
  UnflushedChanges(const UnflushedChanges&) = delete;
  UnflushedChanges& operator=(const UnflushedChanges&) = delete;

  void add() {
    if (counts_ && ++changes_ == kMost) ++files_due();
  }
  void flushed() {
    if (due()) --files_due();
    changes_ = 0;
  }
  [[nodiscard]] bool due() const { return changes_ >= kMost; }
  /// Is it due in any open file of this process? Nearly every call asks.
  [[nodiscard]] static bool any() { return files_due() > 0; }

 private:
  /// A dataset with an attribute takes three changes, and 6 KiB of the cache.
  static constexpr std::size_t kMost = 2048;
  static std::size_t& files_due() {
    static std::size_t files = 0;
    return files;
  }

  bool counts_;
  std::size_t changes_ = 0;
};

}  // namespace bento::vol
