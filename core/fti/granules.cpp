// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/fti/granules.hpp"

#include <algorithm>

namespace bento::fti {

Hash128 hash_of_granules(std::span<const Hash128> granules) {
  return granules.size() == 1 ? granules.front() : hash128(std::as_bytes(granules));
}

Hash128 hash_in_granules(std::span<const std::byte> data) {
  if (data.size() <= kGranuleBytes) return hash128(data);
  std::vector<Hash128> granules;
  for (std::size_t at = 0; at < data.size(); at += kGranuleBytes)
    granules.push_back(
        hash128(data.subspan(at, std::min<std::size_t>(kGranuleBytes, data.size() - at))));
  return hash_of_granules(granules);
}

void GranuleHasher::update(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (used_ == kGranuleBytes) {
      done_.push_back(hasher_.digest());
      hasher_.reset();
      used_ = 0;
    }
    const auto take =
        static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), kGranuleBytes - used_));
    hasher_.update(bytes.first(take));
    used_ += take;
    bytes = bytes.subspan(take);
  }
}

std::vector<Hash128> GranuleHasher::hashes() const {
  std::vector<Hash128> all = done_;
  if (used_ > 0) all.push_back(hasher_.digest());
  return all;
}

}  // namespace bento::fti
