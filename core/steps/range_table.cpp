// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/range_table.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/steps/packed_column.hpp"

namespace bento {

namespace {
constexpr std::size_t kPageRanges = 512;
// One entry of the table: what the page holds, then where it is. Of fixed size, to be found at
// once.
constexpr std::size_t kEntryBytes = 8 + 8 + 8 + 8 + 16;

struct TableEntry {
  ValueRange all;
  BlobRef ref;
};

Result<TableEntry> get_entry(ByteReader& in) {
  TableEntry entry;
  BENTO_ASSIGN(entry.all.low, in.u64());
  BENTO_ASSIGN(entry.all.high, in.u64());
  BENTO_ASSIGN(entry.ref.position, in.u64());
  BENTO_ASSIGN(entry.ref.bytes, in.u64());
  BENTO_ASSIGN(const auto hash, in.bytes(entry.ref.hash.size()));
  std::copy(hash.begin(), hash.end(), entry.ref.hash.begin());
  if (entry.ref.bytes > kMaxBlobBytes)
    return fail(Code::kCorrupt, "value ranges: an impossible page");
  return entry;
}
}  // namespace

Result<BlobRef> write_ranges(SegmentSink& sink, std::span<const ValueRange> ranges) {
  ByteWriter table;
  for (std::size_t first = 0; first < ranges.size(); first += kPageRanges) {
    const auto part = ranges.subspan(first, std::min(kPageRanges, ranges.size() - first));
    std::vector<std::uint64_t> low;
    std::vector<std::uint64_t> width;
    ValueRange all = part.front();
    for (const auto& range : part) {
      low.push_back(range.low);
      width.push_back(range.high - range.low);
      all = {std::min(all.low, range.low), std::max(all.high, range.high)};
    }
    ByteWriter page;
    page.varint(part.size());
    put_packed(page, low);
    put_packed(page, width);
    BENTO_ASSIGN(const BlobRef ref, sink.append(page.view()));
    table.u64(all.low);
    table.u64(all.high);
    table.u64(ref.position);
    table.u64(ref.bytes);
    table.bytes(ref.hash);
  }
  return sink.append(table.view());
}

Result<bool> range_meets(SegmentSource& source, const BlobRef& table, std::uint64_t position,
                         const ValueRange& wanted) {
  BENTO_ASSIGN(const Blob bytes, source.read(table));
  const std::uint64_t page = position / kPageRanges;
  if (page >= bytes->size() / kEntryBytes)
    return fail(Code::kCorrupt, fmt::format("step index: no value range of record {}", position));
  const auto entry = std::span<const std::byte>(*bytes).subspan(
      static_cast<std::size_t>(page) * kEntryBytes, kEntryBytes);
  ByteReader in(entry, std::endian::little, "value ranges");
  BENTO_ASSIGN(const TableEntry found, get_entry(in));
  if (!found.all.meets(wanted)) return false;
  BENTO_ASSIGN(const Blob stored, source.read(found.ref));
  ByteReader columns(*stored, std::endian::little, "value ranges");
  BENTO_ASSIGN(const std::uint64_t count, columns.varint());
  if (count > kPageRanges || position % kPageRanges >= count)
    return fail(Code::kCorrupt, fmt::format("step index: no value range of record {}", position));
  BENTO_ASSIGN(const auto low, get_packed(columns, static_cast<std::size_t>(count)));
  BENTO_ASSIGN(const auto width, get_packed(columns, static_cast<std::size_t>(count)));
  const auto at = static_cast<std::size_t>(position % kPageRanges);
  return ValueRange{low[at], low[at] + width[at]}.meets(wanted);
}

Status visit_range_refs(SegmentSource& source, const BlobRef& table,
                        const std::function<Status(const BlobRef&)>& use) {
  BENTO_ASSIGN(const Blob bytes, source.read(table));
  ByteReader in(*bytes, std::endian::little, "value ranges");
  while (in.remaining() >= kEntryBytes) {
    BENTO_ASSIGN(const TableEntry entry, get_entry(in));
    BENTO_TRY(use(entry.ref));
  }
  return {};
}

}  // namespace bento
