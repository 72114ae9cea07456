// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Elements of the filtered records that were decoded last, so that reading one band after the
/// other does not decompress the same records again and again. One per file. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "core/records/record.hpp"

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
    entries_.clear();
    by_key_.clear();
    bytes_ = 0;
  }

  /// The elements of a record, null if they are not here. Valid until the next put() or
  /// keep_only(). A record is told by its order and place, which no two of one version share.
  const std::vector<std::byte>* find(const Record& record) {
    const auto known = by_key_.find(key_of(record));
    if (known == by_key_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, known->second);
    return &known->second->elements;
  }

  /// Adds a record that find() does not know.
  const std::vector<std::byte>& put(const Record& record, std::vector<std::byte> elements) {
    bytes_ += elements.size();
    entries_.push_front({key_of(record), std::move(elements)});
    by_key_[entries_.front().key] = entries_.begin();
    while (bytes_ > kDecodedBytes && entries_.size() > 1) {
      bytes_ -= entries_.back().elements.size();
      by_key_.erase(entries_.back().key);
      entries_.pop_back();
    }
    return entries_.front().elements;
  }

 private:
  struct Key {
    Order order;
    Location where;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      const std::uint64_t mixed =
          (key.order.time_ns ^ key.where.offset << 20 ^ key.order.rank) * 0x9E3779B97F4A7C15ull;
      return static_cast<std::size_t>(mixed ^ mixed >> 32);
    }
  };
  struct Entry {
    Key key;
    std::vector<std::byte> elements;
  };
  static Key key_of(const Record& record) { return {record.order, record.where}; }

  std::list<Entry> entries_;  ///< last used first
  std::unordered_map<Key, std::list<Entry>::iterator, KeyHash> by_key_;
  std::size_t bytes_ = 0;
  std::uint64_t version_ = 0;
  std::vector<std::byte> passing_;
};

}  // namespace bento::vol
