// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/catalogue_sweep.hpp"

#include <set>

#include <fmt/format.h>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/container/committed_index.hpp"

namespace bento {

std::vector<std::byte> encode_ranges(std::span<const CatalogueRange> ranges) {
  ByteWriter out;
  out.varint(ranges.size());
  for (const auto& range : ranges) {
    out.varint(range.begin);
    out.varint(range.end - range.begin);
  }
  return std::move(out).take();
}

Result<std::vector<CatalogueRange>> decode_ranges(std::span<const std::byte> bytes) {
  ByteReader in(bytes, std::endian::little, "list of ranges");
  BENTO_ASSIGN(const std::uint64_t count, in.varint());
  BENTO_TRY(in.fits(count, 2));
  std::vector<CatalogueRange> ranges(static_cast<std::size_t>(count));
  for (auto& range : ranges) {
    BENTO_ASSIGN(range.begin, in.varint());
    BENTO_ASSIGN(const std::uint64_t length, in.varint());
    if (range.begin > kMaxLogicalBytes || length > kMaxLogicalBytes)
      return fail(Code::kCorrupt,
                  fmt::format("list of ranges: {} bytes at position {}", length, range.begin));
    range.end = range.begin + length;
  }
  return ranges;
}

Result<std::vector<CatalogueRange>> ranges_in_use(File& file, const FilePlan& plan,
                                                  const Root& root) {
  std::vector<CatalogueRange> used;
  Catalogue catalogue(file, plan);
  const auto use = [&](Position position, std::uint64_t bytes) {
    used.push_back({position, position + bytes});
  };
  std::set<Position> tables;  // steps without changes of metadata share one
  const auto use_skeleton = [&](const CatalogueRef& table, std::uint64_t bytes) -> Status {
    if (table.bytes == 0 || !tables.insert(table.position).second) return {};
    use(table.position, table.bytes);
    BENTO_ASSIGN(const auto places, catalogue.load_places(table, bytes));
    for (const auto& place : places) use(place.position, kPageBytes);
    return {};
  };
  BENTO_TRY(use_skeleton(root.skeleton, root.skeleton_bytes));
  use(root.streams.position, root.streams.bytes);
  for (const CatalogueRef& view : {root.view, root.view_before}) {
    if (view.bytes == 0) continue;
    use(view.position, view.bytes);
    BENTO_ASSIGN(const auto table, catalogue.read(view, "table of the native view"));
    ByteReader in(table, std::endian::little, "table of the native view");
    BENTO_TRY(in.skip(16));
    BENTO_ASSIGN(const auto ranges, decode_ranges(std::span(table).subspan(in.offset())));
    used.insert(used.end(), ranges.begin(), ranges.end());
  }
  if (root.index.bytes != 0) {
    CatalogueBlobs blobs(catalogue);
    StepIndex::BlobVisitor visitor;
    visitor.blob = [&](const BlobRef& ref) -> Status {
      use(ref.position, ref.bytes);
      return {};
    };
    visitor.payload = [&](std::span<const std::byte> bytes) -> Status {
      BENTO_ASSIGN(const StepPayload payload, decode_payload(bytes));
      return use_skeleton(payload.skeleton, payload.skeleton_bytes);
    };
    BENTO_TRY(StepIndex::visit_blobs(blobs, blob_ref(root.index), visitor));
  }
  return used;
}

}  // namespace bento
