// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Elements of the filtered records that were decoded last, so that reading one band after the
/// other does not decompress the same records again and again. One per file. Not thread-safe.
#pragma once

#include <cstddef>
#include <list>
#include <vector>

#include "core/index/record.hpp"

namespace bento::vol {

/// Decoded bytes that are kept; a single record that is larger is kept until the next one comes.
inline constexpr std::size_t kDecodedBytes = std::size_t{64} << 20;

class DecodedCache {
 public:
  /// The elements of a record, null if they are not here. Valid until the next put(). A record is
  /// told by its order, which no two writes share, and its place.
  const std::vector<std::byte>* find(const Record& record) {
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry)
      if (entry->order == record.order && entry->where == record.where) {
        entries_.splice(entries_.begin(), entries_, entry);
        return &entries_.front().elements;
      }
    return nullptr;
  }

  const std::vector<std::byte>& put(const Record& record, std::vector<std::byte> elements) {
    bytes_ += elements.size();
    entries_.push_front({record.order, record.where, std::move(elements)});
    while (bytes_ > kDecodedBytes && entries_.size() > 1) {
      bytes_ -= entries_.back().elements.size();
      entries_.pop_back();
    }
    return entries_.front().elements;
  }

 private:
  struct Entry {
    Order order;
    Location where;
    std::vector<std::byte> elements;
  };
  std::list<Entry> entries_;  ///< last used first
  std::size_t bytes_ = 0;
};

}  // namespace bento::vol
