// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/regions/region_addresses.hpp"

#include <array>

#include "hdf5/regions/region_store.hpp"

namespace bento::vol {

namespace {

constexpr unsigned kSlots = 256;
constexpr unsigned kSlotBits = 52;
constexpr unsigned kRankBits = 32;
constexpr std::uint64_t kRanks = std::uint64_t{1} << (kSlotBits - kRankBits);
// A slot that is taken again begins elsewhere: a reference of the file that had it before is known,
// too, as long as the heaps are smaller than that.
constexpr std::uint64_t kTurnBytes = 1u << 20;
constexpr std::uint64_t kTurns = (std::uint64_t{1} << kRankBits) / 2 / kTurnBytes;

/// How many open files have each slot, and how many have had one.
struct Slots {
  std::array<unsigned, kSlots> users{};
  std::uint64_t taken = 0;
};
Slots& slots() {
  static auto* const instance = new Slots;  // files may be closed after static destructors have run
  return *instance;
}

unsigned take_slot() {
  Slots& all = slots();
  unsigned slot = static_cast<unsigned>(all.taken % kSlots);
  for (unsigned i = 0; i < kSlots && all.users[slot] != 0; ++i) slot = (slot + 1) % kSlots;
  ++all.users[slot];
  ++all.taken;
  return slot;
}

}  // namespace

RegionAddresses::RegionAddresses(std::int64_t rank)
    : slot_(take_slot()),
      first_(kPrivateAddresses + (std::uint64_t{slot_} << kSlotBits) +
             (static_cast<std::uint64_t>(rank) % kRanks << kRankBits) +
             slots().taken / kSlots % kTurns * kTurnBytes) {}

RegionAddresses::~RegionAddresses() {
  --slots().users[slot_];
}

}  // namespace bento::vol
