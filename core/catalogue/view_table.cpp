// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/catalogue/view_table.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"

namespace bento {

namespace {

constexpr std::string_view kWhat = "table of the native view";

auto too_large(std::uint64_t bytes, std::uint64_t at) {
  return fail(Code::kCorrupt, fmt::format("{}: {} bytes at {}", kWhat, bytes, at));
}

}  // namespace

std::vector<CatalogueRange> ViewTable::in_use(std::uint64_t chunk_bytes) const {
  std::vector<CatalogueRange> used = ranges;
  for (const auto& run : blocks) used.push_back(run.range(chunk_bytes));
  return used;
}

std::vector<std::byte> encode_view_table(const ViewTable& table) {
  ByteWriter out;
  out.bytes(table.hash);
  out.varint(table.ranges.size());
  for (const auto& range : table.ranges) {
    out.varint(range.begin);
    out.varint(range.end - range.begin);
  }
  if (!table.blocks.empty()) out.varint(table.blocks.size());
  for (const auto& run : table.blocks) {
    out.varint(run.first);
    out.varint(run.count);
    out.varint(run.bytes);
  }
  return std::move(out).take();
}

Result<ViewTable> decode_view_table(std::span<const std::byte> bytes) {
  ByteReader in(bytes, std::endian::little, kWhat);
  ViewTable table;
  BENTO_ASSIGN(const auto hash, in.bytes(table.hash.size()));
  std::ranges::copy(hash, table.hash.begin());
  BENTO_ASSIGN(const std::uint64_t ranges, in.varint());
  BENTO_TRY(in.fits(ranges, 2));
  table.ranges.resize(static_cast<std::size_t>(ranges));
  for (auto& range : table.ranges) {
    BENTO_ASSIGN(range.begin, in.varint());
    BENTO_ASSIGN(const std::uint64_t length, in.varint());
    if (range.begin > kMaxLogicalBytes || length > kMaxLogicalBytes)
      return too_large(length, range.begin);
    range.end = range.begin + length;
  }
  if (in.remaining() == 0) return table;
  BENTO_ASSIGN(const std::uint64_t runs, in.varint());
  BENTO_TRY(in.fits(runs, 3));
  table.blocks.resize(static_cast<std::size_t>(runs));
  for (auto& run : table.blocks) {
    BENTO_ASSIGN(run.first, in.varint());
    BENTO_ASSIGN(run.count, in.varint());
    BENTO_ASSIGN(run.bytes, in.varint());
    if (run.first > kMaxLogicalBytes || run.count > kMaxLogicalBytes ||
        run.bytes > kMaxLogicalBytes)
      return too_large(run.bytes, run.first);
  }
  return table;
}

Result<Hash128> hash_of_view(File& file, const FilePlan& plan, const ViewTable& table) {
  constexpr std::uint64_t kPiece = 1u << 20;
  Hasher hasher;
  std::vector<std::byte> piece;
  // A table that lists the same places again and again must not keep its reader busy.
  BENTO_ASSIGN(std::uint64_t left, file.size());
  const auto add = [&](std::uint64_t address, std::uint64_t bytes) -> Status {
    if (bytes > left) return too_large(bytes, address);
    left -= bytes;
    while (bytes > 0) {
      piece.resize(static_cast<std::size_t>(std::min(kPiece, bytes)));
      BENTO_TRY(file.read_at(address, piece));
      hasher.update(piece);
      address += piece.size();
      bytes -= piece.size();
    }
    return {};
  };
  // A range of small pieces may cross chunk ends.
  for (const auto& range : table.ranges)
    for (Position at = range.begin; at < range.end;) {
      const std::uint64_t here = std::min(range.end - at, plan.chunk_bytes - at % plan.chunk_bytes);
      BENTO_TRY(add(plan.address(plan.catalogue_task(), at), here));
      at += here;
    }
  for (const auto& run : table.blocks) BENTO_TRY(add(plan.block_address(run.first), run.bytes));
  return hasher.digest();
}

}  // namespace bento
