// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Pages of a step segment: leaves with runs or with single records, and inner pages that say where
/// in the dataset each page below them has records. Source: docs/format.md, "Step index".
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/steps/blob.hpp"
#include "core/steps/record_fields.hpp"
#include "core/steps/run_view.hpp"

namespace bento {

inline constexpr std::size_t kPageRecords = 512;    ///< single records in a leaf
inline constexpr std::size_t kRunPageBytes = 4096;  ///< a leaf takes runs up to about this size
inline constexpr std::size_t kPageChildren = 64;
inline constexpr unsigned kMaxPageDepth = 8;

/// A page as its parent knows it.
struct PageEntry {
  BlobRef ref;
  std::uint64_t records = 0;
  Box bounds;
};

/// `run_bytes`: about as many as they take encoded.
std::vector<std::byte> encode_run_page(std::span<const RecordRun* const> runs,
                                       std::size_t run_bytes = 0);
/// The same of one run that is encoded already.
void put_run_page(ByteWriter& out, std::span<const std::byte> run);
/// `rows` holds the rows one behind the other; `picked` says which of them and in which order.
std::vector<std::byte> encode_record_page(const RowShape& shape,
                                          std::span<const std::uint64_t> rows,
                                          std::span<const std::size_t> picked);
std::vector<std::byte> encode_inner_page(std::span<const PageEntry> children);

/// Calls visit(position below this page, row) for all records below an encoded page that overlap
/// `selection`, loading only pages whose bounds do; null: for all records. Errors: kCorrupt, the
/// source's, the budget's, visit's.
Status find_in_page(SegmentSource& source, std::span<const std::byte> page, const RowShape& shape,
                    const Box* selection, QueryBudget& budget, const RunView::Visit& visit,
                    unsigned depth = 0);

/// Into `found` the row of the only record of an encoded page that overlaps `selection`. False if
/// there is none or another one, if the page has more records than are looked at one by one, or if
/// it cannot be read: find_in_page() says more.
bool find_only_record(std::span<const std::byte> page, const RowShape& shape, const Box& selection,
                      Row& found);

/// Calls use(ref) for every page below this one. Errors: kCorrupt, the source's, those of `use`.
Status visit_page_refs(SegmentSource& source, std::span<const std::byte> page, unsigned rank,
                       const std::function<Status(const BlobRef&)>& use, unsigned depth = 0);

}  // namespace bento
