// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/catalogue/catalogue_sweep.hpp"

#include <set>

#include <fmt/format.h>

#include "core/catalogue/committed_index.hpp"
#include "core/catalogue/view_table.hpp"

namespace bento {

Result<std::vector<CatalogueRange>> ranges_in_use(File& file, const FilePlan& plan,
                                                  const Root& root) {
  std::vector<CatalogueRange> used;
  Catalogue catalogue(file, plan);
  const auto use = [&](Position position, std::uint64_t bytes) {
    used.push_back({position, position + bytes});
  };
  std::set<Position> tables;  // steps without changes of metadata share one
  BENTO_ASSIGN(const std::uint64_t file_bytes, catalogue.file_bytes());
  std::uint64_t table_bytes = 0;
  const auto use_skeleton = [&](const CatalogueRef& table, std::uint64_t bytes) -> Status {
    if (table.bytes == 0 || !tables.insert(table.position).second) return {};
    use(table.position, table.bytes);
    table_bytes += table.bytes;
    if (table_bytes > file_bytes || table.bytes > file_bytes)
      return fail(Code::kCorrupt,
                  fmt::format("'{}': page tables of more bytes than the file has", file.path()));
    BENTO_ASSIGN(const auto places, catalogue.load_places(table, bytes));
    for (const auto& place : places) use(place.position, kPageBytes);
    return {};
  };
  BENTO_TRY(use_skeleton(root.skeleton, root.skeleton_bytes));
  use(root.streams.position, root.streams.bytes);
  for (const CatalogueRef& view : {root.view, root.view_before}) {
    if (view.bytes == 0) continue;
    use(view.position, view.bytes);
    BENTO_ASSIGN(const auto bytes, catalogue.read(view, "table of the native view"));
    BENTO_ASSIGN(const ViewTable table, decode_view_table(bytes));
    const auto ranges = table.in_use(plan.chunk_bytes);
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
