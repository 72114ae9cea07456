// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A record as a row of 64-bit numbers, in the form in which rows of neighbouring ranks differ
/// least: runs and columns both work on such rows. Source: docs/format.md, "Step index".
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/base/error.hpp"
#include "core/records/record.hpp"

namespace bento {

/// Fields behind the starts and the counts of the box. Persistent: never renumber.
enum Field : unsigned {
  kFieldCollective = 0,
  kFieldTime,  ///< ns, or the layer (docs/format.md) where no two ranks overlap
  kFieldTask,
  kFieldRankGap,   ///< rank - task
  kFieldPosition,  ///< in the task's stream
  kFieldExcess,    ///< stored bytes - elements * bytes of an element
  kFieldDistance,  ///< from dbvar to data
  kFieldEncoding,
  kFieldMask,
  kFields
};

/// Numbers are taken modulo 2^64 wherever a difference or a sum may wrap.
struct RowShape {
  unsigned rank = 0;  ///< dimensions
  std::uint64_t element_bytes = 0;

  [[nodiscard]] unsigned width() const { return 2 * rank + kFields; }
  [[nodiscard]] unsigned field(Field f) const { return 2 * rank + f; }
  bool operator==(const RowShape&) const = default;
};

inline constexpr unsigned kMaxRowWidth = 2 * kMaxRank + kFields;
using Row = std::array<std::uint64_t, kMaxRowWidth>;

/// The hash is left out: it lies in the record's dbvar. Errors: kInvalidArgument (a box that is
/// empty or ends beyond 2^63 - 1, another rank, data still in a buffer).
Status to_row(const RowShape& shape, const Record& record, Row& row);
/// Errors: kCorrupt (values that no record can have).
Result<Record> from_row(const RowShape& shape, DatasetNumber dataset,
                        std::span<const std::uint64_t> row);

}  // namespace bento
