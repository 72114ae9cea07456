// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What a group of ranks brings to a commit's index, as bytes that ranks send each other. Two
/// neighbouring groups merge into one without going through their records, so that a regular
/// decomposition stays a few hundred bytes on its whole way up the tree. Nothing here is stored.
/// Source: docs/format.md, "Step index".
#pragma once

#include <map>
#include <memory_resource>
#include <set>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/records/value_range.hpp"
#include "core/steps/record_run.hpp"

namespace bento {

/// Two runs join only below this number of tokens, so that merging irregular records costs the same
/// however many there are.
inline constexpr std::size_t kMaxJoinedTokens = 256;

/// Sum modulo 2^128 over hash128(hash, task, position) of records: tells whether all the hashes in
/// the streams are still those of the commit. Records without a hash count 0.
struct RecordDigest {
  Hash128 sum{};  ///< little-endian
  void add(const Record& record);
  void add(const RecordDigest& other);
  bool operator==(const RecordDigest&) const = default;
};

/// What one contribution holds of one dataset.
struct ContributionPart {
  explicit ContributionPart(RecordRun::Memory memory = std::pmr::get_default_resource())
      : pieces(memory) {}
  DatasetNumber dataset = 0;
  RowShape shape;
  std::uint64_t records = 0;
  bool exact_times = false;  ///< else the time field is a layer: larger is later within one rank
  RecordDigest digest;
  bool has_ranges = false;
  std::pmr::vector<std::span<const std::byte>> pieces;  ///< encoded runs
  std::span<const std::byte> ranges;                    ///< low and high, u64 each, per record
};

/// One rank's records of a commit.
class ContributionBuilder {
 public:
  struct Options {
    bool ranges = false;                  ///< minmax=on; they are kept if all ranks bring them
    std::set<DatasetNumber> exact_times;  ///< datasets_that_need_exact_times() named them
    bool all_exact_times = false;         ///< a group of one: it costs nobody anything
  };
  explicit ContributionBuilder(Options options) : options_(std::move(options)) {}
  ContributionBuilder() = default;

  /// Records come in the order in which they lie in the stream, for that is regular.
  /// `element_bytes` as declared. Errors: kInvalidArgument (as to_row; shapes that differ).
  Status add(const Record& record, std::uint64_t element_bytes,
             const ValueRange& range = ValueRange::everything());
  [[nodiscard]] std::vector<std::byte> encode() const;

 private:
  struct PerDataset {
    using allocator_type = std::pmr::polymorphic_allocator<>;
    explicit PerDataset(const allocator_type& memory) : rows(memory), ranges(memory) {}
    RowShape shape;
    std::pmr::vector<std::uint64_t> rows;
    std::pmr::vector<ValueRange> ranges;
    RecordDigest digest;
  };
  Options options_;
  /// Many datasets with few records each take memory together.
  std::pmr::monotonic_buffer_resource memory_;
  std::pmr::map<DatasetNumber, PerDataset> datasets_{&memory_};
};

/// `left` are the lower ranks (any order is correct, but only neighbours join). Associative: the
/// records of the result do not depend on the shape of the tree. Errors: kCorrupt, kInvalidArgument
/// (ranks that disagree on a dataset's shape).
Result<std::vector<std::byte>> merge_contributions(std::span<const std::byte> left,
                                                   std::span<const std::byte> right);

/// The reverse of parse_contribution(). `parts` by ascending dataset.
std::vector<std::byte> encode_contribution(std::span<const ContributionPart> parts);
/// Views into `bytes`, by ascending dataset; what they take lies in `memory`. Errors: kCorrupt.
Result<std::pmr::vector<ContributionPart>> parse_contribution(
    std::span<const std::byte> bytes, RecordRun::Memory memory = std::pmr::get_default_resource());
/// The runs of a part, in `memory`; together they must have its number of records. Errors:
/// kCorrupt.
Result<std::pmr::vector<RecordRun>> decode_runs(
    const ContributionPart& part, RecordRun::Memory memory = std::pmr::get_default_resource());
std::vector<ValueRange> decode_ranges(const ContributionPart& part);

}  // namespace bento
