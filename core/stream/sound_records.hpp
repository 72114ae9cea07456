// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which records were read whole and held against their hash, so that who comes back to a part of
/// one need not read all of it again. Makes no file call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/base/key_table.hpp"
#include "core/records/record.hpp"

namespace bento {

class SoundRecords {
 public:
  /// The record was read whole, and is what was written. When there are too many, it is not noted.
  void add(const Record& record) {
    const std::uint64_t key = key_of(record);
    if (known_.size() < kMost || known_.find(key) != nullptr) known_.put(key, 0);
  }
  /// May parts of the record be read by themselves, which costs as much as `cost` bytes do? Not if
  /// it was not read whole yet; nor if what its parts have cost since then would have paid for
  /// reading it whole twice, after which it is kept.
  [[nodiscard]] bool read_in_parts(const Record& record, std::uint64_t cost) {
    std::uint32_t* const before = known_.find(key_of(record));
    if (before == nullptr) return false;
    const std::uint64_t spent = *before + std::min(cost, record.stored_bytes);
    if (spent > 2 * record.stored_bytes) return false;
    *before = static_cast<std::uint32_t>(spent);
    return true;
  }
  void clear() { known_.clear(); }

 private:
  /// 4 MiB of memory, or a little more.
  static constexpr std::size_t kMost = std::size_t{1} << 17;

  /// Of order and place, as RecordCache tells records apart. Two records with one key are very
  /// unlikely, and would only be verified as one.
  static std::uint64_t key_of(const Record& record) {
    std::uint64_t key = 0;
    for (const std::uint64_t part :
         {record.order.collective, record.order.time_ns, std::uint64_t{record.order.rank},
          std::uint64_t{record.where.task}, record.where.offset, record.stored_bytes}) {
      key = (key ^ part) * 0x9E3779B97F4A7C15ull;
      key ^= key >> 29;
    }
    return key;
  }

  KeyTable<std::uint32_t> known_;  ///< bytes that parts have cost
};

}  // namespace bento
