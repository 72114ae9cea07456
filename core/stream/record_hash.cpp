// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/stream/record_hash.hpp"

#include <array>

#include <fmt/format.h>

#include "core/fti/checksum.hpp"
#include "core/fti/v11.hpp"

namespace bento {

Result<Hash128> stored_hash(File& file, std::uint64_t address, const Record& record) {
  if (record.hash != Hash128{} || record.header_distance == 0) return record.hash;
  const auto damaged = [&](std::string_view why) {
    return fail(Code::kCorrupt,
                fmt::format("'{}': the FTI record of dataset {}'s data at byte {} (written by rank "
                            "{}) {}",
                            file.path(), record.dataset, address, record.order.rank, why));
  };
  if (record.header_distance > address || record.header_distance < fti::v11::kDbVarBytes)
    return damaged("lies outside the file");
  std::array<std::byte, fti::v11::kDbVarBytes> bytes{};
  BENTO_TRY(file.read_at(address - record.header_distance, bytes));
  const auto var = fti::v11::decode_dbvar(bytes);
  if (!var || var->id != static_cast<std::int32_t>(record.dataset) ||
      var->containersize < record.stored_bytes)
    return damaged("describes something else");
  // With MD5 the dead containers of kept steps cannot keep their hash (docs/format.md).
  if (!var->hascontent && var->hash == fti::empty_chunk_hash(fti::HashKind::kMd5)) return Hash128{};
  return var->hash;
}

}  // namespace bento
