// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// In which order a segment keeps its records: runs that are worth it as runs, then single records,
/// those together that lie together. Arithmetic only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/geometry/box.hpp"
#include "core/steps/record_run.hpp"

namespace bento {

/// The runs that stay, and the rows of those that do not.
struct SortedRuns {
  explicit SortedRuns(RecordRun::Memory memory)
      : runs(memory), rows(memory), origin(memory), run_origin(memory) {}
  std::pmr::vector<const RecordRun*> runs;
  std::pmr::vector<std::uint64_t> rows;
  std::pmr::vector<std::size_t> origin;  ///< of each row, among all records
  std::pmr::vector<std::size_t> run_origin;
};

/// A run that takes many bytes per record becomes single records, which are smaller and found
/// faster. `width` is that of a row. The result lies in `memory`, and points into `runs`.
SortedRuns sort_out(std::span<const RecordRun> runs, unsigned width, RecordRun::Memory memory);

/// The box of a row; `rank` is the number of its dimensions.
Box row_box(std::span<const std::uint64_t> row, unsigned rank);

/// The numbers of the rows along a Z curve through the records' starts, so that a page's records
/// lie together.
std::vector<std::size_t> spatial_order(const SortedRuns& sorted, unsigned rank, unsigned width);

}  // namespace bento
