// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What the arrays of the step index hold: the datasets by number, the steps; and the root, from
/// which both are found. Source: docs/format.md, "Step index".
#pragma once

#include "core/records/record.hpp"
#include "core/steps/dataset_steps.hpp"
#include "core/steps/paged_array.hpp"
#include "core/steps/step.hpp"

namespace bento {

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
  /// Into a new entry. Errors: kCorrupt.
  [[nodiscard]] Status get_entry(ByteReader& in, Entry& entry) const;
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
  [[nodiscard]] Status get_entry(ByteReader& in, Entry& entry) const {
    BENTO_TRY(next_ref(in, entry));
    return in.settled();
  }
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
