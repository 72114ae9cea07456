// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// From keys that are hashes to small values. Asked by every small write and read, so it takes no
/// memory for each key: one array, in which what does not lie at its place lies behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bento {

/// Not thread-safe.
template <class Value>
class KeyTable {
 public:
  [[nodiscard]] std::size_t size() const { return used_; }

  /// Null: there is none. Until the table changes.
  [[nodiscard]] Value* find(std::uint64_t key) {
    if (slots_.empty()) return nullptr;
    Slot& slot = slots_[place_of(key)];
    return slot.used ? &slot.value : nullptr;
  }
  [[nodiscard]] const Value* find(std::uint64_t key) const {
    return const_cast<KeyTable*>(this)->find(key);
  }

  /// In the place of the value that the key had, if it had one.
  void put(std::uint64_t key, const Value& value) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place_of(key)];
    if (!slot.used) ++used_;
    slot = {key, value, true};
  }

  /// Gives large memory back: after ten thousand writes one may come alone before each flush.
  void clear() {
    if (used_ == 0) return;
    if (slots_.size() > kFewSlots)
      slots_ = {};
    else
      slots_.assign(slots_.size(), {});
    used_ = 0;
  }

 private:
  static constexpr std::size_t kFewSlots = 64;
  struct Slot {
    std::uint64_t key = 0;
    Value value{};
    bool used = false;
  };

  /// Where it is, or where it would be put. There always is a slot that is not used.
  [[nodiscard]] std::size_t place_of(std::uint64_t key) const {
    const std::size_t last = slots_.size() - 1;
    std::size_t at = static_cast<std::size_t>(key ^ key >> 32) & last;
    while (slots_[at].used && slots_[at].key != key) at = (at + 1) & last;
    return at;
  }

  void grow() {
    std::vector<Slot> before(slots_.empty() ? kFewSlots : 2 * slots_.size());
    before.swap(slots_);
    for (const Slot& slot : before)
      if (slot.used) slots_[place_of(slot.key)] = slot;
  }

  std::vector<Slot> slots_;  ///< a power of two of them, at most half of them used
  std::size_t used_ = 0;
};

}  // namespace bento
