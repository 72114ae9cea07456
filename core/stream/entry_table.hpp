// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// From the hash of a box to a record in the buffer. Asked by every small write, so it takes no
/// memory for each of them: one array, in which what does not lie at its place lies behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace bento {

class EntryTable {
 public:
  /// The entry that was put last under this key.
  [[nodiscard]] std::optional<std::size_t> find(std::uint64_t key) const {
    if (slots_.empty()) return std::nullopt;
    const Slot& slot = slots_[place_of(key)];
    return slot.used ? std::optional(slot.entry) : std::nullopt;
  }

  void put(std::uint64_t key, std::size_t entry) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place_of(key)];
    if (!slot.used) ++used_;
    slot = {key, entry, true};
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
    std::size_t entry = 0;
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
