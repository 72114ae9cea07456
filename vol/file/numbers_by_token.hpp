// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// From a dataset's object token to its number. Each create and each open of a dataset asks, with
/// ten thousand of them most often for what no cache of the processor holds: so all lie in one
/// array, each at its place or behind it, where one look finds it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <hdf5.h>

#include "core/container/container.hpp"

namespace bento::vol {

using TokenBytes = std::array<std::byte, 16>;
inline TokenBytes token_bytes(const H5O_token_t& token) {
  TokenBytes bytes{};
  static_assert(sizeof bytes == sizeof token);
  std::memcpy(bytes.data(), &token, sizeof token);
  return bytes;
}

/// For tables by token. A native token begins with the object's address, the rest is zeros.
struct TokenHash {
  std::size_t operator()(const TokenBytes& token) const noexcept {
    std::uint64_t words[2];
    std::memcpy(words, token.data(), sizeof words);
    const std::uint64_t mixed = (words[0] ^ words[1] << 1) * 0x9e3779b97f4a7c15u;
    return static_cast<std::size_t>(mixed ^ mixed >> 32);
  }
};
struct SameToken {
  bool operator()(const TokenBytes& a, const TokenBytes& b) const noexcept {
    return std::memcmp(a.data(), b.data(), sizeof a) == 0;
  }
};

/// Not thread-safe.
class NumbersByToken {
 public:
  [[nodiscard]] std::size_t size() const { return used_; }

  /// Null: there is none of this token. Until the table changes.
  [[nodiscard]] const DatasetNumber* find(const TokenBytes& token) const {
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[place_of(token)];
    return slot.used ? &slot.number : nullptr;
  }

  /// In the place of the number that the token had, if it had one.
  void put(const TokenBytes& token, DatasetNumber number) {
    reserve(used_ + 1);
    Slot& slot = slots_[place_of(token)];
    if (!slot.used) ++used_;
    slot = {token, number, true};
  }

  /// So many will be there: takes the memory at once.
  void reserve(std::size_t count) {
    std::size_t slots = slots_.empty() ? kFewSlots : slots_.size();
    while (3 * slots < 4 * count) slots *= 2;
    if (slots == slots_.size()) return;
    std::vector<Slot> before(slots);
    before.swap(slots_);
    for (const Slot& slot : before)
      if (slot.used) slots_[place_of(slot.token)] = slot;
  }

  void erase(const TokenBytes& token) {
    if (slots_.empty()) return;
    std::size_t hole = place_of(token);
    if (!slots_[hole].used) return;
    --used_;
    // What was put behind for want of this place comes nearer, so that it is found again.
    for (std::size_t at = next(hole); slots_[at].used; at = next(at)) {
      const std::size_t wanted = first_place(slots_[at].token);
      if (((at - wanted) & last()) < ((at - hole) & last())) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole] = {};
  }

  /// Calls visit(token, number) for each, in no order. The table must stay as it is meanwhile.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const Slot& slot : slots_)
      if (slot.used) visit(slot.token, slot.number);
  }

 private:
  static constexpr std::size_t kFewSlots = 64;
  struct Slot {
    TokenBytes token{};
    DatasetNumber number = 0;
    bool used = false;
  };

  [[nodiscard]] std::size_t last() const { return slots_.size() - 1; }
  [[nodiscard]] std::size_t next(std::size_t at) const { return (at + 1) & last(); }
  [[nodiscard]] std::size_t first_place(const TokenBytes& token) const {
    return TokenHash()(token) & last();
  }
  /// Where it is, or where it would be put. There always is a slot that is not used.
  [[nodiscard]] std::size_t place_of(const TokenBytes& token) const {
    std::size_t at = first_place(token);
    while (slots_[at].used && !SameToken()(slots_[at].token, token)) at = next(at);
    return at;
  }

  std::vector<Slot> slots_;  ///< a power of two of them, at most three quarters of them used
  std::size_t used_ = 0;
};

}  // namespace bento::vol
