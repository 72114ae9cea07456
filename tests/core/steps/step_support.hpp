// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Decompositions and records for the tests of the step index.
#pragma once

#include <random>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "core/steps/contribution.hpp"
#include "core/steps/step_index.hpp"

namespace bento::step_test {

using Random = std::mt19937_64;

inline std::uint64_t below(Random& random, std::uint64_t limit) {
  return random() % limit;
}

/// How `extent` elements are cut among `parts`: [begin(i), begin(i + 1)).
enum class Cut { kFirstLarger, kFloor, kLastSmaller };
inline std::uint64_t cut_begin(Cut cut, std::uint64_t extent, std::uint64_t parts,
                               std::uint64_t i) {
  switch (cut) {
    case Cut::kFirstLarger:
      return i * (extent / parts) + std::min(i, extent % parts);
    case Cut::kFloor:
      return i * extent / parts;
    case Cut::kLastSmaller:
      break;
  }
  return std::min(extent, i * ((extent + parts - 1) / parts));
}

/// Block `number` (the last dimension fastest) of a grid.
inline Box grid_box(Cut cut, const Dims& extent, const Dims& grid, std::uint64_t number) {
  Box box{Dims(extent.rank()), Dims(extent.rank())};
  for (unsigned d = extent.rank(); d-- > 0;) {
    const std::uint64_t i = number % grid[d];
    number /= grid[d];
    box.start[d] = cut_begin(cut, extent[d], grid[d], i);
    box.count[d] = cut_begin(cut, extent[d], grid[d], i + 1) - box.start[d];
  }
  return box;
}

inline Record record_of(DatasetNumber dataset, const Box& box, std::uint32_t rank,
                        std::uint64_t collective, std::uint64_t time = 1) {
  Record record;
  record.dataset = dataset;
  record.box = box;
  record.order = {collective, time, rank};
  record.where = {rank, 4096};
  record.stored_bytes = box.elements() * 8;
  record.header_distance = 200;
  record.hash.fill(static_cast<std::byte>(rank + 1));
  return record;
}

/// Merges as a tree of ranks does; `order` of the tree by chance if `random` is given.
inline Result<std::vector<std::byte>> merge_all(std::vector<std::vector<std::byte>> parts,
                                                Random* random = nullptr) {
  while (parts.size() > 1) {
    std::vector<std::vector<std::byte>> above;
    for (std::size_t i = 0; i < parts.size();) {
      const bool alone = i + 1 == parts.size() || (random != nullptr && below(*random, 3) == 0);
      if (alone) {
        above.push_back(std::move(parts[i++]));
        continue;
      }
      BENTO_ASSIGN(auto merged, merge_contributions(parts[i], parts[i + 1]));
      above.push_back(std::move(merged));
      i += 2;
    }
    parts = std::move(above);
  }
  return std::move(parts.front());
}

/// How many blobs an index refers to.
inline std::uint64_t blobs_of(SegmentSource& source, const BlobRef& root) {
  std::uint64_t count = 0;
  StepIndex::BlobVisitor visitor;
  visitor.blob = [&](const BlobRef&) -> Status {
    ++count;
    return {};
  };
  visitor.payload = [](std::span<const std::byte>) -> Status { return {}; };
  REQUIRE(StepIndex::visit_blobs(source, root, visitor));
  return count;
}

}  // namespace bento::step_test
