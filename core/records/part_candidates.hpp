// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Finding in several indexes at once, in which records of different ranks may overlap that became
/// longer by several writes, or have gaps: where they do, each part counts for itself.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/records/index.hpp"
#include "core/records/record_gaps.hpp"
#include "core/records/resolve.hpp"
#include "core/records/write_times.hpp"

namespace bento {

class PartCandidates {
 public:
  explicit PartCandidates(const Box& selection) : selection_(selection) {}

  /// When the parts of the record at this position were written; null if it did not grow.
  using TimesOf = std::function<const WriteTimes*(std::size_t position)>;
  /// Which elements of it were written; null if all.
  using GapsOf = std::function<const RecordGaps*(std::size_t position)>;
  /// Adds the records of one index. They have their positions there as numbers, and behind those of
  /// the indexes before. Those of a later collective count than `newest` are left out. Errors: as
  /// Index::find().
  Status add(const Index& index, DatasetNumber dataset, const TimesOf& times_of,
             const GapsOf& gaps_of, std::uint64_t newest = ~std::uint64_t{0});
  /// Which records hold the selection. Errors: as Index::find().
  Result<Lookup> resolve() &&;

 private:
  struct Grown {
    std::size_t candidate;
    Box whole;
    const WriteTimes* times;
  };
  struct Gapped {
    std::size_t candidate;
    const RecordGaps* gaps;
  };
  /// What lies over a candidate.
  enum class Beside : char { kOwn, kOtherRank, kOtherRankAtTheSameCall };
  [[nodiscard]] std::vector<Beside> beside_other_ranks() const;

  Box selection_;
  std::size_t base_ = 0;
  std::vector<Candidate> candidates_;
  std::vector<Grown> grown_;
  std::vector<Gapped> gapped_;
};

}  // namespace bento
