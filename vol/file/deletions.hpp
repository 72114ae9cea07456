// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// When a flush has to look for datasets that were deleted. HDF5 does not tell which ones they are:
/// that takes a look at all objects of the file (linked_datasets.hpp). So it is done when the
/// program has done as much since the last one. All ranks make the same calls, so on all of them it
/// is due at the same flush.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace bento::vol {

class Deletions {
 public:
  /// A call that changes metadata.
  void add_call() { ++calls_; }
  /// So much data each rank may have written to datasets of this session.
  void add_bytes(std::uint64_t bytes) { bytes_ += bytes; }
  /// Some dataset may be gone.
  void add_deletion() { maybe_ = true; }
  /// May one be gone that the last look has not found?
  [[nodiscard]] bool due(std::size_t datasets, std::uint64_t skeleton_bytes) const {
    const std::uint64_t cost =
        kBeginning + std::max(datasets, objects_) + skeleton_bytes / kSkeletonBytes;
    return maybe_ && calls_ + bytes_ / kWrittenBytes >= cost;
  }
  /// A look has found so many objects.
  void looked(std::size_t objects) {
    objects_ = objects;
    calls_ = bytes_ = 0;
  }
  /// And all that are gone were removed.
  void removed_all() { maybe_ = false; }

 private:
  // What takes at least as long as to look at one object, 8 us: the skeleton is copied and opened
  // for that.
  static constexpr std::uint64_t kBeginning = 10;  ///< of them
  static constexpr std::uint64_t kSkeletonBytes = 32u << 10;
  static constexpr std::uint64_t kWrittenBytes = 64u << 10;

  bool maybe_ = false;
  std::size_t objects_ = 0;
  std::uint64_t calls_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace bento::vol
