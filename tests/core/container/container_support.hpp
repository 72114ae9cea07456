// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A small program's worth of container use, for the container tests: a skeleton of some pages and
/// one 2-D dataset of 8-byte elements whose value is a function of place and step.
#pragma once

#include <cstring>
#include <vector>

#include "core/container/container.hpp"

namespace bento::test {

inline constexpr std::uint64_t kRows = 12;
inline constexpr std::uint64_t kColumns = 10;

inline std::uint64_t value_at(std::uint64_t row, std::uint64_t column, std::uint64_t step) {
  return (step << 40) + (row << 20) + column + 1;
}

inline std::span<const std::byte> bytes_of(const std::vector<std::uint64_t>& values) {
  return std::as_bytes(std::span(values));
}

inline std::vector<std::uint64_t> band_values(const Box& box, std::uint64_t step) {
  std::vector<std::uint64_t> values;
  for (std::uint64_t row = 0; row < box.count[0]; ++row)
    for (std::uint64_t column = 0; column < box.count[1]; ++column)
      values.push_back(value_at(box.start[0] + row, box.start[1] + column, step));
  return values;
}

/// Rows of one rank of `ranks`; the last one takes the rest.
inline Box rows_of(int rank, int ranks) {
  const std::uint64_t each = kRows / static_cast<std::uint64_t>(ranks);
  const auto first = static_cast<std::uint64_t>(rank) * each;
  return {Dims{first, 0}, Dims{rank + 1 == ranks ? kRows - first : each, kColumns}};
}

inline std::vector<std::byte> skeleton_bytes(std::uint64_t step) {
  std::vector<std::byte> bytes(9000);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>((i * 31 + step) & 0xFF);
  return bytes;
}

/// Writes this rank's rows and the step's skeleton; the caller commits.
inline Status write_step(Container& container, DatasetNumber dataset, std::uint64_t step) {
  container.note_collective("step", {});
  container.skeleton().write(0, skeleton_bytes(step));
  const Box box = rows_of(container.comm().rank(), container.comm().size());
  return container.write(dataset, box, 8, bytes_of(band_values(box, step)));
}

/// 0 where nobody wrote.
inline Result<std::vector<std::uint64_t>> read_box(Container& container, DatasetNumber dataset,
                                                   const Box& box) {
  std::vector<std::uint64_t> values(box.elements(), 0);
  BENTO_ASSIGN(const RecordLookup lookup, container.find(dataset, box));
  for (const auto& piece : lookup.pieces)
    BENTO_TRY(container.read(lookup.records[piece.record], piece.part, 8, box,
                             reinterpret_cast<std::byte*>(values.data())));
  return values;
}

inline Result<std::vector<std::uint64_t>> read_all(Container& container, DatasetNumber dataset) {
  return read_box(container, dataset, Box::whole(Dims{kRows, kColumns}));
}

inline std::vector<std::uint64_t> whole_values(std::uint64_t step) {
  return band_values(Box::whole(Dims{kRows, kColumns}), step);
}

inline bool skeleton_is(Container& container, std::uint64_t step) {
  const auto wanted = skeleton_bytes(step);
  const auto have = container.skeleton().bytes();
  return have.size() == wanted.size() &&
         std::memcmp(have.data(), wanted.data(), wanted.size()) == 0;
}

inline ContainerOptions small_options(FileOpener opener) {
  ContainerOptions options;
  options.chunk_bytes = 64u << 10;
  options.opener = std::move(opener);
  return options;
}

}  // namespace bento::test
