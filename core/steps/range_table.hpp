// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Value ranges of a segment's records, by their position in the segment (minmax=on). They lie
/// beside the segment, so that reading without them costs nothing.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/records/value_range.hpp"
#include "core/steps/blob.hpp"

namespace bento {

/// Stores the pages and a table of them. Errors: the sink's.
Result<BlobRef> write_ranges(SegmentSink& sink, std::span<const ValueRange> ranges);
/// May record `position` hold a value in `wanted`? Loads the table, and the record's page only if
/// the page's range meets `wanted`. Errors: kCorrupt, the source's.
Result<bool> range_meets(SegmentSource& source, const BlobRef& table, std::uint64_t position,
                         const ValueRange& wanted);

/// Calls use(ref) for every page of the table. Errors: kCorrupt, the source's, those of `use`.
Status visit_range_refs(SegmentSource& source, const BlobRef& table,
                        const std::function<Status(const BlobRef&)>& use);

}  // namespace bento
