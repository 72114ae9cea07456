// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Elements of the filtered records that were decoded last, so that reading one band after the
/// other does not decompress the same records again and again. One per file. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/records/record_cache.hpp"

namespace bento::vol {

/// Decoded bytes that are kept; a single record that is larger is kept until the next one comes.
inline constexpr std::size_t kDecodedBytes = std::size_t{64} << 20;

/// A buffer for records that are decoded but not kept is itself kept up to this size.
inline constexpr std::size_t kPassingBytes = std::size_t{16} << 20;

class DecodedCache {
 public:
  std::vector<std::byte>& passing() { return passing_; }

  /// Forgets everything unless it was decoded at this version of the container's content: records
  /// of two sessions may have the same order and place.
  void keep_only(std::uint64_t version) {
    if (version == version_) return;
    version_ = version;
    records_.clear();
  }

  /// As RecordCache::find(); valid until keep_only(), too.
  const std::vector<std::byte>* find(const Record& record) { return records_.find(record); }
  /// As RecordCache::put().
  const std::vector<std::byte>& put(const Record& record, std::vector<std::byte> elements) {
    return records_.put(record, std::move(elements));
  }

 private:
  RecordCache records_{kDecodedBytes};
  std::uint64_t version_ = 0;
  std::vector<std::byte> passing_;
};

}  // namespace bento::vol
