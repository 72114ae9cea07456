// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// XXH3-128 of data in granules of 1 MiB, so that a part of it can be verified by itself. Source:
/// docs/format.md, "A rank's stream".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/hash.hpp"

namespace bento::fti {

inline constexpr std::uint64_t kGranuleBytes = std::uint64_t{1} << 20;

/// Granules in `bytes` of data; the last one may be shorter.
constexpr std::uint64_t granules_in(std::uint64_t bytes) {
  return bytes / kGranuleBytes + (bytes % kGranuleBytes != 0 ? 1 : 0);
}

/// Hash of all data, from the hashes of its granules: of a single one its own, of several the hash
/// of their hashes, of none the hash of no bytes.
Hash128 hash_of_granules(std::span<const Hash128> granules);

/// hash_of_granules() of a buffer. Thread-safe.
Hash128 hash_in_granules(std::span<const std::byte> data);

/// Hashes data that arrives in pieces.
class GranuleHasher {
 public:
  void update(std::span<const std::byte> bytes);
  /// Of all granules so far, in order.
  [[nodiscard]] std::vector<Hash128> hashes() const;
  /// hash_of_granules() of them.
  [[nodiscard]] Hash128 digest() const { return hash_of_granules(hashes()); }

 private:
  Hasher hasher_;
  std::uint64_t used_ = 0;  ///< bytes of the granule that is being hashed
  std::vector<Hash128> done_;
};

}  // namespace bento::fti
