// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/segment_order.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace bento {

namespace {

/// A run that takes more bytes per record than this is stored as single records.
constexpr std::uint64_t kRunBytesPerRecord = 8;

}  // namespace

SortedRuns sort_out(std::span<const RecordRun> runs, unsigned width, RecordRun::Memory memory) {
  SortedRuns sorted(memory);
  std::size_t before = 0;
  for (const auto& run : runs) {
    // A first row alone has more bytes, at least one for each of its numbers.
    if (run.records() > 1 && run.encoded_bytes() <= run.records() * kRunBytesPerRecord) {
      sorted.runs.push_back(&run);
      sorted.run_origin.push_back(before);
    } else {
      std::size_t at = before;
      const auto take = [&](std::span<const std::uint64_t> row) {
        sorted.rows.insert(sorted.rows.end(), row.begin(), row.begin() + width);
        sorted.origin.push_back(at++);
      };
      if (run.records() == 1)
        take(run.first());
      else
        run.for_each(take);
    }
    before += static_cast<std::size_t>(run.records());
  }
  return sorted;
}

Box row_box(std::span<const std::uint64_t> row, unsigned rank) {
  return {Dims(row.first(rank)), Dims(row.subspan(rank, rank))};
}

std::vector<std::size_t> spatial_order(const SortedRuns& sorted, unsigned rank, unsigned width) {
  const std::size_t count = sorted.origin.size();
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (rank == 0 || count <= 1) return order;
  std::vector<std::uint64_t> low(rank, ~0ull);
  std::vector<std::uint64_t> high(rank, 0);
  for (std::size_t i = 0; i < count; ++i)
    for (unsigned d = 0; d < rank; ++d) {
      low[d] = std::min(low[d], sorted.rows[i * width + d]);
      high[d] = std::max(high[d], sorted.rows[i * width + d]);
    }
  const unsigned bits = 64 / rank;
  std::vector<std::uint64_t> key(count);
  for (std::size_t i = 0; i < count; ++i)
    for (unsigned bit = bits; bit-- > 0;)
      for (unsigned d = 0; d < rank; ++d) {
        const auto span = static_cast<unsigned>(std::bit_width(high[d] - low[d]));
        const unsigned drop = span > bits ? span - bits : 0;
        const std::uint64_t at = (sorted.rows[i * width + d] - low[d]) >> drop;
        key[i] = key[i] << 1 | (at >> bit & 1);
      }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return key[a] != key[b] ? key[a] < key[b] : a < b;
  });
  return order;
}

}  // namespace bento
