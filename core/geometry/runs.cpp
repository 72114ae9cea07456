// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/geometry/runs.hpp"

namespace bento {

void RegularSelection::normalise() {
  for (unsigned d = 0; d < start.rank(); ++d) {
    if (count[d] > 1 && stride[d] == block[d]) {
      block[d] *= count[d];
      count[d] = 1;
    }
    if (count[d] == 1) stride[d] = block[d];
  }
}

Box RegularSelection::packed_grid() const {
  Box grid{Dims(start.rank()), Dims(start.rank())};
  for (unsigned d = 0; d < start.rank(); ++d) grid.count[d] = count[d] * block[d];
  return grid;
}

Box RegularSelection::box(std::uint64_t index) const {
  Box out{start, block};
  for (unsigned d = start.rank(); d-- > 0;) {
    out.start[d] += index % count[d] * stride[d];
    index /= count[d];
  }
  return out;
}

Box RegularSelection::packed_box(std::uint64_t index) const {
  Box out{Dims(start.rank()), block};
  for (unsigned d = start.rank(); d-- > 0;) {
    out.start[d] = index % count[d] * block[d];
    index /= count[d];
  }
  return out;
}

namespace {

// Can `run` be the next row of `box`, which so far is rows stacked along one dimension?
bool stacks_on(const RunBox& box, const Run& run) {
  const unsigned last = box.box.rank() - 1;
  if (run.start[last] != box.box.start[last] || run.length != box.box.count[last]) return false;
  Box row{run.start, Dims(box.box.rank(), 1)};
  row.count[last] = run.length;
  Box grown = box.box;
  return append_row_major(grown, row);
}

}  // namespace

std::vector<RunBox> merge_runs(std::span<const Run> runs) {
  std::vector<RunBox> out;
  for (const auto& run : runs) {
    const unsigned last = run.start.rank() - 1;
    Box row{run.start, Dims(run.start.rank(), 1)};
    row.count[last] = run.length;
    if (!out.empty()) {
      RunBox& previous = out.back();
      // One row that goes on along the last dimension, both in the dataset and in the packed
      // buffer.
      if (previous.rows.size() == 1 && previous.rows[0] + previous.box.count[last] == run.packed) {
        Box grown = previous.box;
        bool same_row = grown.start[last] + grown.count[last] == row.start[last];
        for (unsigned d = 0; d < last; ++d) same_row = same_row && grown.start[d] == row.start[d];
        if (same_row) {
          previous.box.count[last] += run.length;
          continue;
        }
      }
      if (stacks_on(previous, run)) {
        append_row_major(previous.box, row);
        previous.rows.push_back(run.packed);
        continue;
      }
    }
    out.push_back({row, {run.packed}});
  }
  return out;
}

}  // namespace bento
