// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Bytes of the records that were read last, up to a limit, so that reading one part after the
/// other does not read, verify and decode the same records again and again. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "core/records/record.hpp"

namespace bento {

class RecordCache {
 public:
  /// A single record of more than `limit_bytes` is kept until the next one comes.
  explicit RecordCache(std::size_t limit_bytes) : limit_(limit_bytes) {}

  void clear() {
    entries_.clear();
    by_key_.clear();
    bytes_ = 0;
  }

  /// The bytes of a record, null if they are not here. Valid until the next put() or clear().
  /// A record is told by its order and place, which no two of one content of a container share.
  const std::vector<std::byte>* find(const Record& record) {
    if (!entries_.empty() && entries_.front().key == key_of(record)) return &entries_.front().bytes;
    const auto known = by_key_.find(key_of(record));
    if (known == by_key_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, known->second);
    return &known->second->bytes;
  }

  /// Adds a record that find() does not know.
  const std::vector<std::byte>& put(const Record& record, std::vector<std::byte> bytes) {
    bytes_ += bytes.size();
    entries_.push_front({key_of(record), std::move(bytes)});
    by_key_[entries_.front().key] = entries_.begin();
    while (bytes_ > limit_ && entries_.size() > 1) {
      bytes_ -= entries_.back().bytes.size();
      by_key_.erase(entries_.back().key);
      entries_.pop_back();
    }
    return entries_.front().bytes;
  }

 private:
  struct Key {
    Order order;
    Location where;
    std::uint64_t bytes;
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
    std::vector<std::byte> bytes;
  };
  static Key key_of(const Record& record) {
    return {record.order, record.where, record.stored_bytes};
  }

  std::size_t limit_;
  std::list<Entry> entries_;  ///< last used first
  std::unordered_map<Key, std::list<Entry>::iterator, KeyHash> by_key_;
  std::size_t bytes_ = 0;
};

}  // namespace bento
