// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/made.hpp"

#include <algorithm>
#include <cstddef>

namespace bento::transfer {

std::uint64_t not_all(const Entry& entry, std::uint64_t bytes) {
  return entry.size > 0 ? std::min(bytes, entry.size - 1) : 0;
}

void share_out(std::vector<Entry>& entries, std::uint64_t done, std::uint64_t total) {
  const double share =
      total > 0 ? std::min(static_cast<double>(done) / static_cast<double>(total), 1.0) : 0;
  double left = 0;
  for (const auto& entry : entries) left += static_cast<double>(entry.size) * share;
  for (std::size_t index = entries.size(); index-- > 0;) {
    Entry& entry = entries[index];
    const double mine = std::min(left, static_cast<double>(entry.size));
    left -= mine;
    entry.made = not_all(entry, static_cast<std::uint64_t>(mine));
  }
}

}  // namespace bento::transfer
