// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/record_fields.hpp"

#include <fmt/format.h>

#include "core/base/checked.hpp"

namespace bento {

Status to_row(const RowShape& shape, const Record& record, Row& row) {
  if (record.box.rank() != shape.rank)
    return fail(Code::kInvalidArgument,
                fmt::format("a record of {} dimensions in dataset {}, which has {}",
                            record.box.rank(), record.dataset, shape.rank));
  if (record.where.offset >> 63 != 0)
    return fail(Code::kInvalidArgument,
                fmt::format("a record of dataset {} that lies in no stream yet", record.dataset));
  std::uint64_t bytes = shape.element_bytes;
  for (unsigned d = 0; d < shape.rank; ++d) {
    row[d] = record.box.start[d];
    row[shape.rank + d] = record.box.count[d];
    bytes *= record.box.count[d];
    const auto end = checked_add(record.box.start[d], record.box.count[d]);
    if (!end || *end >> 63 != 0 || record.box.count[d] == 0)
      return fail(
          Code::kInvalidArgument,
          fmt::format("a record of dataset {} is empty or ends beyond 2^63 - 1", record.dataset));
  }
  row[shape.field(kFieldCollective)] = record.order.collective;
  row[shape.field(kFieldTime)] = record.order.time_ns;
  row[shape.field(kFieldTask)] = record.where.task;
  row[shape.field(kFieldRankGap)] = std::uint64_t{record.order.rank} - record.where.task;
  row[shape.field(kFieldPosition)] = record.where.offset;
  row[shape.field(kFieldExcess)] = record.stored_bytes - bytes;
  row[shape.field(kFieldDistance)] = record.header_distance;
  row[shape.field(kFieldEncoding)] = static_cast<std::uint64_t>(record.encoding);
  row[shape.field(kFieldMask)] = record.filter_mask;
  return {};
}

Result<Record> from_row(const RowShape& shape, DatasetNumber dataset,
                        std::span<const std::uint64_t> row) {
  Record record;
  record.dataset = dataset;
  record.box = {Dims(row.first(shape.rank)), Dims(row.subspan(shape.rank, shape.rank))};
  std::uint64_t elements = 1;
  bool sound = true;
  for (unsigned d = 0; d < shape.rank; ++d) {
    std::uint64_t end = 0;
    sound = sound && !__builtin_add_overflow(row[d], row[shape.rank + d], &end) && end >> 63 == 0 &&
            !__builtin_mul_overflow(elements, row[shape.rank + d], &elements);
  }
  std::uint64_t bytes = 0;
  sound = sound && elements != 0 && !__builtin_mul_overflow(elements, shape.element_bytes, &bytes);
  const auto at = [&](Field f) { return row[shape.field(f)]; };
  const std::uint64_t stored = bytes + at(kFieldExcess);
  const bool plain = at(kFieldEncoding) == static_cast<std::uint64_t>(Encoding::kPlain);
  sound = sound && (plain ? at(kFieldExcess) == 0 : stored >> 63 == 0);
  const std::uint64_t rank = at(kFieldTask) + at(kFieldRankGap);
  sound = sound && at(kFieldTask) >> 32 == 0 && rank >> 32 == 0 && at(kFieldPosition) >> 63 == 0 &&
          at(kFieldDistance) >> 32 == 0 && at(kFieldMask) >> 32 == 0 &&
          at(kFieldEncoding) <= static_cast<std::uint64_t>(Encoding::kVariable);
  if (!sound)
    return fail(Code::kCorrupt, fmt::format("step index: an impossible record of dataset {} "
                                            "(task {}, position {})",
                                            dataset, at(kFieldTask), at(kFieldPosition)));
  record.order = {at(kFieldCollective), at(kFieldTime), static_cast<std::uint32_t>(rank)};
  record.where = {static_cast<std::uint32_t>(at(kFieldTask)), at(kFieldPosition)};
  record.stored_bytes = stored;
  record.header_distance = static_cast<std::uint32_t>(at(kFieldDistance));
  record.encoding = static_cast<Encoding>(at(kFieldEncoding));
  record.filter_mask = static_cast<std::uint32_t>(at(kFieldMask));
  return record;
}

}  // namespace bento
