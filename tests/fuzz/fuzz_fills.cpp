// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Stream tables: u16 writers, u8 log2 of the chunk size, then the table.
#include "core/layout/chunk_fill.hpp"
#include "tests/fuzz/target.hpp"

namespace bento::fuzz {

void fills(Input input) {
  Dice dice(input);
  const auto writers = static_cast<std::uint32_t>(dice.number(2));
  const std::uint64_t chunk_bytes = std::uint64_t{1} << (dice.number(1) % 44);
  const auto table = decode_fills(dice.rest(), writers, chunk_bytes);
  if (!table) return;
  require(table->size() == writers, "each writer has an entry");
  for (const auto& fill : *table) {
    const std::uint64_t bytes = stream_bytes(fill);
    require(bytes <= fill.size() * chunk_bytes, "no chunk is fuller than full");
    if (fill.empty()) continue;
    const Position last = (fill.size() - 1) * chunk_bytes;
    require(stream_offset(fill, chunk_bytes, last) == bytes - fill.back(), "offset of a chunk");
  }
  const auto written = encode_fills(*table);
  require(written.size() <= dice.rest().size(), "the table is written no longer than it was");
  const auto again = decode_fills(written, writers, chunk_bytes);
  require(again && *again == *table, "and as it was read");
}

}  // namespace bento::fuzz

BENTO_FUZZ_MAIN(fills)
