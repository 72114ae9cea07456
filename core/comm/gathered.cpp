// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/comm/gathered.hpp"

#include <fmt/format.h>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"

namespace bento {

Bytes pack_payload(int rank, std::span<const std::byte> payload) {
  ByteWriter out;
  out.i32(rank);
  out.u64(payload.size());
  out.bytes(payload);
  return std::move(out).take();
}

Bytes join_payloads(std::span<const std::byte> lower, std::span<const std::byte> higher) {
  Bytes both(lower.begin(), lower.end());
  both.insert(both.end(), higher.begin(), higher.end());
  return both;
}

Result<std::vector<Bytes>> unpack_payloads(std::span<const std::byte> joined, int ranks) {
  std::vector<Bytes> all(static_cast<std::size_t>(ranks));
  ByteReader in(joined, std::endian::little, "gathered payloads");
  while (in.remaining() > 0) {
    BENTO_ASSIGN(const std::int32_t rank, in.i32());
    BENTO_ASSIGN(const std::uint64_t bytes, in.u64());
    BENTO_ASSIGN(const auto view, in.bytes(bytes));
    if (rank < 0 || rank >= ranks)
      return fail(Code::kCorrupt, fmt::format("a message of rank {} of {}", rank, ranks));
    all[static_cast<std::size_t>(rank)].assign(view.begin(), view.end());
  }
  return all;
}

}  // namespace bento
