// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// From selections to boxes: regular hyperslabs, and everything else as runs along the last
/// dimension. "Packed" positions count elements in selection order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/geometry/box.hpp"

namespace bento {

/// start, stride, count and block per dimension, as H5Sget_regular_hyperslab gives them.
struct RegularSelection {
  Dims start;
  Dims stride;
  Dims count;
  Dims block;

  /// Blocks that touch (stride == block) become one, so that a contiguous selection is a single
  /// box.
  void normalise();
  [[nodiscard]] std::uint64_t boxes() const { return count.product(); }
  /// The selected elements as an array of their own: shape count * block.
  [[nodiscard]] Box packed_grid() const;
  /// Box number `index` in row-major order, and where it lies in the packed grid.
  [[nodiscard]] Box box(std::uint64_t index) const;
  [[nodiscard]] Box packed_box(std::uint64_t index) const;
  /// What `within`, which is not empty, holds of each box, in row-major order of the boxes.
  void for_each_in(const Box& within, const std::function<void(const Box&)>& use) const;
  /// Copies the selected elements, which are at least one, from the row-major buffer of `around`,
  /// in which all of them lie, to one behind the other; and back.
  void gather(const Box& around, const std::byte* from, std::byte* packed,
              std::size_t element_bytes) const;
  void scatter(const std::byte* packed, const Box& around, std::byte* to,
               std::size_t element_bytes) const;

 private:
  template <class Visit>
  void for_each_row(const Box& around, const Visit& visit) const;
};

/// Elements [start, start + length) along the last dimension; `packed` is the position of the
/// first.
struct Run {
  Dims start;
  std::uint64_t length = 0;
  std::uint64_t packed = 0;
};

/// A box whose rows along the last dimension are found at these packed positions, in row-major
/// order.
struct RunBox {
  Box box;
  std::vector<std::uint64_t> rows;
};

/// Merges runs that follow each other in selection order into boxes where they stack up. Runs must
/// be given in selection order; a later run may repeat elements of an earlier one.
std::vector<RunBox> merge_runs(std::span<const Run> runs);

}  // namespace bento
