// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/stream/granule_table.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "core/fti/granules.hpp"

namespace bento {

namespace {

constexpr std::uint64_t kHashBytes = sizeof(Hash128);

// With XXH3 the record's hash is that of the granules' hashes, which protects them. MD5 says
// nothing of them, so there a seal follows, which also says that they are those of this data.
std::uint64_t seal_bytes(const StreamRules& rules) {
  return rules.hash == fti::HashKind::kMd5 ? kHashBytes : 0;
}

Hash128 seal_of(std::span<const Hash128> granules, const Hash128& record_hash) {
  Hasher hasher;
  hasher.update(std::as_bytes(granules));
  hasher.update(record_hash);
  return hasher.digest();
}

}  // namespace

std::uint64_t granule_table_bytes(const StreamRules& rules, std::uint64_t stored_bytes) {
  if (stored_bytes <= fti::kGranuleBytes) return 0;
  return fti::granules_in(stored_bytes) * kHashBytes + seal_bytes(rules);
}

std::uint64_t data_bytes_within(const StreamRules& rules, std::uint64_t capacity) {
  if (capacity <= fti::kGranuleBytes) return capacity;
  // The last granule of the capacity may be there for the table only.
  std::uint64_t best = fti::kGranuleBytes;
  const std::uint64_t most = fti::granules_in(capacity);
  for (std::uint64_t granules = most; granules >= 2 && granules + 1 >= most; --granules) {
    const std::uint64_t table = granules * kHashBytes + seal_bytes(rules);
    if (table < capacity)
      best = std::max(best, std::min(granules * fti::kGranuleBytes, capacity - table));
  }
  return best;
}

std::vector<std::byte> encode_granule_table(const StreamRules& rules,
                                            std::span<const Hash128> granules,
                                            const Hash128& record_hash) {
  const auto hashes = std::as_bytes(granules);
  std::vector<std::byte> table(hashes.begin(), hashes.end());
  if (seal_bytes(rules) != 0) {
    const Hash128 seal = seal_of(granules, record_hash);
    table.insert(table.end(), seal.begin(), seal.end());
  }
  return table;
}

Result<std::vector<Hash128>> read_granule_table(File& file, std::uint64_t address,
                                                const Record& record, const StreamRules& rules,
                                                const Hash128& record_hash) {
  // What the index says of the size becomes an allocation only if so much is there.
  BENTO_ASSIGN(const std::uint64_t file_bytes, file.size());
  if (record.stored_bytes > file_bytes)
    return fail(Code::kCorrupt, fmt::format("'{}': a record of {} bytes in a file of {}",
                                            file.path(), record.stored_bytes, file_bytes));
  std::vector<Hash128> table(
      static_cast<std::size_t>(granule_table_bytes(rules, record.stored_bytes) / kHashBytes));
  BENTO_TRY(file.read_at(address + record.stored_bytes, std::as_writable_bytes(std::span(table))));
  bool good = false;
  if (seal_bytes(rules) != 0) {
    const Hash128 seal = table.back();
    table.pop_back();
    good = seal == seal_of(table, record_hash);
  } else {
    good = record_hash == fti::hash_of_granules(table);
  }
  if (good) return table;
  return fail(
      Code::kCorrupt,
      fmt::format("'{}': the hashes of the parts of dataset {}'s data at byte {} ({} bytes, "
                  "written by rank {}), which lie behind it, do not match its checksum",
                  file.path(), record.dataset, address, record.stored_bytes, record.order.rank));
}

}  // namespace bento
