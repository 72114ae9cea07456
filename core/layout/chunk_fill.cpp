// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/layout/chunk_fill.hpp"

#include <numeric>

#include <fmt/format.h>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"

namespace bento {

std::uint64_t stream_bytes(const ChunkFill& fill) {
  return std::accumulate(fill.begin(), fill.end(), std::uint64_t{0});
}

std::uint64_t stream_offset(const ChunkFill& fill, std::uint64_t chunk_bytes, Position position) {
  const std::uint64_t block = position / chunk_bytes;
  std::uint64_t before = 0;
  for (std::size_t b = 0; b < block && b < fill.size(); ++b) before += fill[b];
  return before + position % chunk_bytes;
}

ChunkFill dense_fill(Position end, std::uint64_t chunk_bytes) {
  ChunkFill fill;
  while (end > chunk_bytes) {
    fill.push_back(chunk_bytes);
    end -= chunk_bytes;
  }
  fill.push_back(end);
  return fill;
}

std::uint64_t most_fill_bytes(std::uint64_t writers, std::uint64_t blocks) {
  constexpr std::uint64_t kVarintBytes = 10;
  return writers * kVarintBytes * (1 + blocks);
}

std::vector<std::byte> encode_fills(std::span<const ChunkFill> fills) {
  ByteWriter out;
  for (const auto& fill : fills) {
    out.varint(fill.size());
    for (const auto used : fill) out.varint(used);
  }
  return std::move(out).take();
}

Result<std::vector<ChunkFill>> decode_fills(std::span<const std::byte> bytes, std::uint32_t writers,
                                            std::uint64_t chunk_bytes) {
  ByteReader in(bytes, std::endian::little, "stream table");
  BENTO_TRY(in.fits(writers, 1));
  std::vector<ChunkFill> fills(writers);
  for (auto& fill : fills) {
    BENTO_ASSIGN(const std::uint64_t blocks, in.varint());
    BENTO_TRY(in.fits(blocks, 1));
    fill.resize(static_cast<std::size_t>(blocks));
    for (auto& used : fill) {
      BENTO_ASSIGN(used, in.varint());
      if (used > chunk_bytes)
        return fail(Code::kCorrupt,
                    fmt::format("stream table: {} bytes used in a chunk of {}", used, chunk_bytes));
    }
  }
  if (in.remaining() != 0)
    return fail(Code::kCorrupt, fmt::format("stream table: {} bytes left over", in.remaining()));
  return fills;
}

}  // namespace bento
