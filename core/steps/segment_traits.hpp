// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What a dataset's entry in the step index says of its steps. Source: docs/format.md, "Step
/// index".
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/error.hpp"
#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/geometry/box.hpp"
#include "core/steps/blob.hpp"

namespace bento {

/// One step of one dataset.
struct StepEntry {
  BlobRef segment;
  std::uint64_t records = 0;
  Box bounds;                ///< of the records, if there are any
  std::optional<Dims> clip;  ///< older records end here: changes of extent that cut into them
  bool covers = false;       ///< hides everything older
};

struct StepSummary {
  std::uint64_t steps = 0;
  bool any_records = false;
  Box bounds;
  std::optional<Dims> clip;  ///< smallest of all
};

struct SegmentTraits {
  using Entry = StepEntry;
  using Summary = StepSummary;
  unsigned rank = 0;  ///< at most kMaxRank

  void put_entry(ByteWriter& out, const Entry& entry) const;
  /// Into a new entry. Errors: kCorrupt.
  [[nodiscard]] Status get_entry(ByteReader& in, Entry& entry) const;
  void put_summary(ByteWriter& out, const Summary& summary) const;
  [[nodiscard]] Result<Summary> get_summary(ByteReader& in) const;
  [[nodiscard]] Summary summary_of(const Entry& entry) const;
  void add(Summary& to, const Summary& other) const;
};

/// Makes `clip` no larger than `extent` in any dimension.
void narrow_clip(std::optional<Dims>& clip, const Dims& extent);

}  // namespace bento
