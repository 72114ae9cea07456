// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What the arrays of the step index hold: the segments of a dataset by absolute step, the
/// datasets by number, the steps. Source: docs/format.md, "Step index".
#pragma once

#include <optional>

#include "core/records/record.hpp"
#include "core/steps/paged_array.hpp"
#include "core/steps/step.hpp"

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
  unsigned rank = 0;

  void put_entry(ByteWriter& out, const Entry& entry) const;
  [[nodiscard]] Result<Entry> get_entry(ByteReader& in) const;
  void put_summary(ByteWriter& out, const Summary& summary) const;
  [[nodiscard]] Result<Summary> get_summary(ByteReader& in) const;
  [[nodiscard]] Summary summary_of(const Entry& entry) const;
  void add(Summary& to, const Summary& other) const;
};
using SegmentArray = PagedArray<SegmentTraits>;

/// Makes `clip` no larger than `extent` in any dimension.
void narrow_clip(std::optional<Dims>& clip, const Dims& extent);

struct DatasetEntry {
  DatasetDeclaration declaration;
  AbsoluteStep declared;
  AbsoluteStep deleted;       ///< 0: not
  std::uint64_t dropped = 0;  ///< steps of it that are gone; relative steps count them
  SegmentArray::Root steps;
};

struct Nothing {};
struct DatasetTraits {
  using Entry = DatasetEntry;
  using Summary = Nothing;
  void put_entry(ByteWriter& out, const Entry& entry) const;
  [[nodiscard]] Result<Entry> get_entry(ByteReader& in) const;
  void put_summary(ByteWriter&, const Summary&) const {}
  [[nodiscard]] Result<Summary> get_summary(ByteReader&) const { return Nothing{}; }
  [[nodiscard]] Summary summary_of(const Entry&) const { return {}; }
  void add(Summary&, const Summary&) const {}
};
using DatasetArray = PagedArray<DatasetTraits>;

struct StepTraits {
  using Entry = BlobRef;  ///< a step's own blob
  using Summary = Nothing;
  void put_entry(ByteWriter& out, const Entry& entry) const { put_ref(out, entry); }
  [[nodiscard]] Result<Entry> get_entry(ByteReader& in) const { return get_ref(in); }
  void put_summary(ByteWriter&, const Summary&) const {}
  [[nodiscard]] Result<Summary> get_summary(ByteReader&) const { return Nothing{}; }
  [[nodiscard]] Summary summary_of(const Entry&) const { return {}; }
  void add(Summary&, const Summary&) const {}
};
using StepArray = PagedArray<StepTraits>;

/// The one blob from which everything is found.
struct StepIndexRoot {
  AbsoluteStep newest;
  AbsoluteStep oldest;  ///< kept; 0 before the first commit
  DatasetArray::Root datasets;
  StepArray::Root steps;
};
std::vector<std::byte> encode(const StepIndexRoot& root);
/// Errors: kCorrupt, kUnsupported (version).
Result<StepIndexRoot> decode_step_index_root(std::span<const std::byte> bytes);

}  // namespace bento
