// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/blob_cache.hpp"

#include <utility>

namespace bento {

void BlobCache::link(Entry& entry) {
  entry.newer = nullptr;
  entry.older = newest_;
  (newest_ != nullptr ? newest_->newer : oldest_) = &entry;
  newest_ = &entry;
}

void BlobCache::unlink(const Entry& entry) {
  (entry.newer != nullptr ? entry.newer->older : newest_) = entry.older;
  (entry.older != nullptr ? entry.older->newer : oldest_) = entry.newer;
}

void BlobCache::drop(const Entry& entry) {
  held_ -= entry.blob->size();
  unlink(entry);
  by_position_.erase(std::uint64_t{entry.ref.position});
}

Blob BlobCache::find(const BlobRef& ref) {
  const auto found = by_position_.find(ref.position);
  if (found == by_position_.end()) return nullptr;
  Entry& entry = found->second;
  if (!(entry.ref == ref)) {
    drop(entry);
    return nullptr;
  }
  unlink(entry);
  link(entry);
  return entry.blob;
}

void BlobCache::keep(const BlobRef& ref, Blob blob) {
  if (const auto found = by_position_.find(ref.position); found != by_position_.end())
    drop(found->second);
  if (blob->size() > limit_) return;
  Entry& entry = by_position_[ref.position];
  entry.ref = ref;
  entry.blob = std::move(blob);
  link(entry);
  held_ += entry.blob->size();
  while (held_ > limit_) drop(*oldest_);
}

Result<Blob> CachedSource::read(const BlobRef& ref) {
  if (Blob known = cache_.find(ref)) return known;
  BENTO_ASSIGN(Blob blob, below_.read(ref));
  cache_.keep(ref, blob);
  return blob;
}

Result<BlobRef> CachingSink::append(std::span<const std::byte> bytes) {
  BENTO_ASSIGN(const BlobRef ref, below_.append(bytes));
  if (bytes.size() <= kSmallBytes)
    cache_.keep(ref, std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end()));
  return ref;
}

}  // namespace bento
