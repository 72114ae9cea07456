// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Blobs of the step index in memory: those that were read or written last, up to a number of
/// bytes. A blob never changes, and its reference has its checksum. So what another blob has taken
/// the place of is never given out. Not thread-safe; task-local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "core/base/error.hpp"
#include "core/steps/blob.hpp"

namespace bento {

class BlobCache {
 public:
  explicit BlobCache(std::size_t limit_bytes = 8u << 20) : limit_(limit_bytes) {}
  BlobCache(const BlobCache&) = delete;
  BlobCache& operator=(const BlobCache&) = delete;
  /// Null if it is not known. Another blob that is known at its place is forgotten.
  [[nodiscard]] Blob find(const BlobRef& ref);
  /// One that is larger than the limit is not kept.
  void keep(const BlobRef& ref, Blob blob);
  [[nodiscard]] std::size_t held_bytes() const { return held_; }

 private:
  /// In a list by when it was used last.
  struct Entry {
    BlobRef ref;
    Blob blob;
    Entry* newer = nullptr;
    Entry* older = nullptr;
  };
  void link(Entry& entry);
  void unlink(const Entry& entry);
  void drop(const Entry& entry);

  std::size_t limit_;
  std::size_t held_ = 0;
  Entry* newest_ = nullptr;
  Entry* oldest_ = nullptr;
  std::unordered_map<std::uint64_t, Entry> by_position_;
};

/// Reads through a cache, so that the upper pages are read once.
class CachedSource final : public SegmentSource {
 public:
  /// Both must outlive it.
  CachedSource(SegmentSource& below, BlobCache& cache) : below_(below), cache_(cache) {}
  Result<Blob> read(const BlobRef& ref) override;
  Result<std::uint64_t> stored_bytes() override { return below_.stored_bytes(); }

 private:
  SegmentSource& below_;
  BlobCache& cache_;
};

/// Puts small blobs into a cache as they are stored: a commit changes pages that the one before has
/// written.
class CachingSink final : public SegmentSink {
 public:
  /// Both must outlive it.
  CachingSink(SegmentSink& below, BlobCache& cache) : below_(below), cache_(cache) {}
  Result<BlobRef> append(std::span<const std::byte> bytes) override;

 private:
  static constexpr std::size_t kSmallBytes = 16u << 10;  ///< pages are; segments may be larger

  SegmentSink& below_;
  BlobCache& cache_;
};

}  // namespace bento
