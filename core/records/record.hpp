// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What the index knows: records (one contiguous piece of one dataset, written by one rank),
/// changes of extent, and dataset declarations; and the segment in which one commit stores them.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/hash.hpp"
#include "core/geometry/box.hpp"

namespace bento {

/// Count of dataset creations in collective order; equal on all ranks, never reused. Also FTI's
/// variable id.
using DatasetNumber = std::uint32_t;

/// Elements along one dimension that records can lie in.
inline constexpr std::uint64_t kMostElements = (std::uint64_t{1} << 62) - 1;

/// Which write is later: lexicographic. Source: docs/format.md, "Step index".
struct Order {
  std::uint64_t collective = 0;  ///< collective calls on this file so far, or up to the last that
                                 ///< says more than the time does
  std::uint64_t time_ns = 0;     ///< wall clock of the writing rank, strictly growing within a rank
  std::uint32_t rank = 0;        ///< writer
  auto operator<=>(const Order&) const = default;
};

/// How a record's bytes are stored. Persistent: never renumber.
enum class Encoding : std::uint8_t {
  kPlain = 0,     ///< the elements in row-major order of the box, in the dataset's file type
  kFiltered = 1,  ///< the same, run through the dataset's filter pipeline
  kVariable = 2,  ///< elements of variable length: lengths and values, one element after the other
};

/// Where bytes lie: a task of the container and an offset in its logical stream.
struct Location {
  std::uint32_t task = 0;
  std::uint64_t offset = 0;
  auto operator<=>(const Location&) const = default;
};

struct Record {
  DatasetNumber dataset = 0;
  Box box;  ///< as stored; a later shrink hides parts of it (the index keeps that apart)
  Order order;
  Location where;
  std::uint64_t stored_bytes = 0;
  Hash128 hash{};  ///< of the stored bytes; all zero with checksum=none
  Encoding encoding = Encoding::kPlain;
  std::uint32_t filter_mask = 0;
  /// How far in front of its data the record's dbvar lies, where its hash is; 0 = unknown. Kept by
  /// the step index only.
  std::uint32_t header_distance = 0;
};

/// H5Dset_extent: records of `dataset` with a smaller collective count are clipped to `extent`.
struct ExtentEvent {
  DatasetNumber dataset = 0;
  std::uint64_t collective = 0;
  Dims extent;
};

/// All records of such a dataset are Encoding::kVariable: a bit of DatasetDeclaration::flags. The
/// other bits are the connector's. Persistent: never renumber.
inline constexpr std::uint32_t kVariableElements = 4;

/// A dataset whose raw data is diverted into records.
struct DatasetDeclaration {
  DatasetNumber number = 0;
  std::array<std::byte, 16> token{};  ///< its object token in the stored skeleton
  std::uint64_t element_bytes = 0;    ///< size of one element in the file type
  std::uint32_t rank = 0;             ///< number of dimensions
  std::uint32_t flags =
      0;  ///< for the connector: properties the skeleton had to hide (vol/callbacks/dataset)
};

/// Everything one commit adds to the index.
struct Segment {
  std::uint64_t step = 0;  ///< absolute step, counted from 1 over the file's whole life
  std::vector<DatasetDeclaration> datasets;
  std::vector<DatasetNumber> deleted;  ///< datasets whose records are dead from here on
  std::vector<ExtentEvent> extents;
  std::vector<Record> records;
};

}  // namespace bento
