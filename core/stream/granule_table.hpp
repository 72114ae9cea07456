// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The hashes of the granules of a large plain record, which lie behind its data in the record's
/// container: with them a part of it is verified without the rest. Source: docs/format.md, "A
/// rank's stream".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/hash.hpp"
#include "core/fti/checksum.hpp"
#include "core/io/file.hpp"
#include "core/layout/stream_rules.hpp"
#include "core/records/record.hpp"

namespace bento {

/// Bytes of the table behind `stored_bytes` of plain data; 0 up to one granule, whose hash is the
/// record's.
std::uint64_t granule_table_bytes(const StreamRules& rules, std::uint64_t stored_bytes);

/// Most bytes of plain data that fit a container of `capacity` together with their table.
std::uint64_t data_bytes_within(const StreamRules& rules, std::uint64_t capacity);

/// The table as it is stored. `record_hash` is what the record's dbvar holds.
std::vector<std::byte> encode_granule_table(const StreamRules& rules,
                                            std::span<const Hash128> granules,
                                            const Hash128& record_hash);

/// Reads the table of a plain record of more than one granule, whose data lies at `address` and
/// whose dbvar holds `record_hash`, and holds the table against that. Errors: kCorrupt (they do not
/// belong together; names file and address), kIo.
Result<std::vector<Hash128>> read_granule_table(File& file, std::uint64_t address,
                                                const Record& record, const StreamRules& rules,
                                                const Hash128& record_hash);

}  // namespace bento
