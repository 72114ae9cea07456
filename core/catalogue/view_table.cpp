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

void put_ranges(ByteWriter& out, std::span<const CatalogueRange> ranges) {
  out.varint(ranges.size());
  for (const auto& range : ranges) {
    out.varint(range.begin);
    out.varint(range.end - range.begin);
  }
}

Result<std::vector<CatalogueRange>> get_ranges(ByteReader& in) {
  BENTO_ASSIGN(const std::uint64_t count, in.varint());
  BENTO_TRY(in.fits(count, 2));
  std::vector<CatalogueRange> ranges(static_cast<std::size_t>(count));
  for (auto& range : ranges) {
    BENTO_ASSIGN(range.begin, in.varint());
    BENTO_ASSIGN(const std::uint64_t length, in.varint());
    if (range.begin > kMaxLogicalBytes || length > kMaxLogicalBytes)
      return too_large(length, range.begin);
    range.end = range.begin + length;
  }
  return ranges;
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
  put_ranges(out, table.ranges);
  if (!table.blocks.empty() || table.step) out.varint(table.blocks.size());
  for (const auto& run : table.blocks) {
    out.varint(run.first);
    out.varint(run.count);
    out.varint(run.bytes);
  }
  if (!table.step) return std::move(out).take();
  out.varint(*table.step);
  out.u8(table.live ? 1 : 0);
  out.varint(table.unknown_since_ns);
  out.varint(table.earlier.size());
  for (const auto& view : table.earlier) {
    out.varint(view.step);
    out.varint(view.followed_ns);
    put_ranges(out, view.ranges);
  }
  return std::move(out).take();
}

Result<ViewTable> decode_view_table(std::span<const std::byte> bytes) {
  ByteReader in(bytes, std::endian::little, kWhat);
  ViewTable table;
  BENTO_ASSIGN(const auto hash, in.bytes(table.hash.size()));
  std::ranges::copy(hash, table.hash.begin());
  BENTO_ASSIGN(table.ranges, get_ranges(in));
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
  if (in.remaining() == 0) return table;
  BENTO_ASSIGN(table.step, in.varint());
  BENTO_ASSIGN(const std::uint8_t live, in.u8());
  table.live = live != 0;
  BENTO_ASSIGN(table.unknown_since_ns, in.varint());
  BENTO_ASSIGN(const std::uint64_t earlier, in.varint());
  BENTO_TRY(in.fits(earlier, 3));
  table.earlier.resize(static_cast<std::size_t>(earlier));
  for (auto& view : table.earlier) {
    BENTO_ASSIGN(view.step, in.varint());
    BENTO_ASSIGN(view.followed_ns, in.varint());
    BENTO_ASSIGN(view.ranges, get_ranges(in));
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
