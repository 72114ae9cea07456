// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/geometry/runs.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

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

void RegularSelection::for_each_in(const Box& within,
                                   const std::function<void(const Box&)>& use) const {
  const unsigned rank = start.rank();
  Dims first(rank);
  Dims end(rank);  // of the numbers of blocks
  for (unsigned d = 0; d < rank; ++d) {
    const std::uint64_t behind = within.start[d] + within.count[d];
    const std::uint64_t step = std::max<std::uint64_t>(stride[d], 1);
    const std::uint64_t skipped = start[d] + block[d] - 1;  // last element of the first block
    first[d] = within.start[d] > skipped ? (within.start[d] - skipped + step - 1) / step : 0;
    end[d] = behind > start[d] ? std::min(count[d], (behind - start[d] + step - 1) / step) : 0;
    if (first[d] >= end[d]) return;
  }
  for (Dims at = first;;) {
    Box box{start, block};
    for (unsigned d = 0; d < rank; ++d) box.start[d] += at[d] * stride[d];
    use(intersect(box, within));
    unsigned d = rank;
    while (d > 0 && ++at[d - 1] == end[d - 1]) {
      at[d - 1] = first[d - 1];
      --d;
    }
    if (d == 0) return;
  }
}

// Calls visit(element of `around` at which the first block of a row along the last dimension
// begins), for each row.
template <class Visit>
void RegularSelection::for_each_row(const Box& around, const Visit& visit) const {
  const unsigned last = start.rank() - 1;
  const Box grid = packed_grid();
  Dims at(last);  // in the grid
  for (;;) {
    std::uint64_t element = 0;
    for (unsigned d = 0; d < last; ++d) {
      const std::uint64_t place = start[d] + at[d] / block[d] * stride[d] + at[d] % block[d];
      element = (element + place - around.start[d]) * around.count[d + 1];
    }
    visit(element + start[last] - around.start[last]);
    unsigned d = last;
    while (d > 0 && ++at[d - 1] == grid.count[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

namespace {

// A copy of known size is an assignment, not a call.
template <class Copy>
void copy_blocks(std::uint64_t blocks, std::size_t bytes, const Copy& copy) {
  if (bytes == 8)
    for (std::uint64_t i = 0; i < blocks; ++i) copy(i, std::integral_constant<std::size_t, 8>());
  else if (bytes == 4)
    for (std::uint64_t i = 0; i < blocks; ++i) copy(i, std::integral_constant<std::size_t, 4>());
  else
    for (std::uint64_t i = 0; i < blocks; ++i) copy(i, bytes);
}

}  // namespace

void RegularSelection::gather(const Box& around, const std::byte* from, std::byte* packed,
                              std::size_t element_bytes) const {
  const unsigned last = start.rank() - 1;
  const std::size_t bytes = block[last] * element_bytes;
  const std::size_t step = stride[last] * element_bytes;
  for_each_row(around, [&](std::uint64_t element) {
    const std::byte* const row = from + element * element_bytes;
    copy_blocks(count[last], bytes, [&](std::uint64_t i, auto size) {
      std::memcpy(packed + i * bytes, row + i * step, size);
    });
    packed += count[last] * bytes;
  });
}

void RegularSelection::scatter(const std::byte* packed, const Box& around, std::byte* to,
                               std::size_t element_bytes) const {
  const unsigned last = start.rank() - 1;
  const std::size_t bytes = block[last] * element_bytes;
  const std::size_t step = stride[last] * element_bytes;
  for_each_row(around, [&](std::uint64_t element) {
    std::byte* const row = to + element * element_bytes;
    copy_blocks(count[last], bytes, [&](std::uint64_t i, auto size) {
      std::memcpy(row + i * step, packed + i * bytes, size);
    });
    packed += count[last] * bytes;
  });
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
