// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/sparse_read.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "vol/data/box_data.hpp"

namespace bento::vol {

namespace {

constexpr std::uint64_t kPieceBytes = 4u << 20;  ///< of the box around a piece
/// A run that is read by itself costs as much as so many bytes that are read and not wanted.
constexpr std::uint64_t kRunBytes = 4u << 10;
/// Blocks with so much between them are never read together: looking them up one by one costs less.
constexpr std::uint64_t kGapBytes = 64u << 10;

/// Is the box around so many runs better read whole?
bool is_read_whole(std::uint64_t around_bytes, std::uint64_t wanted_bytes, std::uint64_t runs) {
  return around_bytes / 4 <= wanted_bytes || around_bytes / kRunBytes <= runs;
}

/// A part of a regular selection, and where it begins in the packed grid of all of it.
struct Piece {
  RegularSelection selection;
  Dims packed;

  /// Elements along one dimension, with those between the blocks.
  [[nodiscard]] std::uint64_t extent(unsigned d) const {
    return (selection.count[d] - 1) * selection.stride[d] + selection.block[d];
  }
  [[nodiscard]] Box around() const {
    Box box{selection.start, Dims(selection.start.rank())};
    for (unsigned d = 0; d < box.rank(); ++d) box.count[d] = extent(d);
    return box;
  }
  /// The blocks [first, first + count) along a dimension.
  [[nodiscard]] Piece blocks(unsigned d, std::uint64_t first, std::uint64_t count) const {
    Piece out = *this;
    out.selection.start[d] += first * selection.stride[d];
    out.selection.count[d] = count;
    out.packed[d] += first * selection.block[d];
    return out;
  }
  /// The same of the elements of the one block along it.
  [[nodiscard]] Piece elements(unsigned d, std::uint64_t first, std::uint64_t count) const {
    Piece out = *this;
    out.selection.start[d] += first;
    out.selection.block[d] = count;
    out.selection.stride[d] = count;
    out.packed[d] += first;
    return out;
  }
};

class RegularReader {
 public:
  RegularReader(Object* object, DatasetState& state, const RegularSelection& whole,
                std::byte* packed)
      : object_(object),
        state_(state),
        element_bytes_(state.element_bytes),
        grid_(whole.packed_grid()),
        packed_(packed) {}

  Status read(const Piece& piece) {
    const RegularSelection& selection = piece.selection;
    const Box around = piece.around();
    const unsigned rank = around.rank();
    Dims inner = around.count;  // of one element along the dimension
    for (unsigned d = 0; d < rank; ++d) {
      inner[d] = 1;
      if (selection.count[d] == 1) continue;
      const std::uint64_t left_out = selection.stride[d] - selection.block[d];
      if (left_out < (kGapBytes + inner.bytes(element_bytes_) - 1) / inner.bytes(element_bytes_))
        continue;
      for (std::uint64_t i = 0; i < selection.count[d]; ++i) BENTO_TRY(read(piece.blocks(d, i, 1)));
      return {};
    }
    const std::uint64_t around_bytes = around.count.bytes(element_bytes_);
    const std::uint64_t elements = selection.packed_grid().elements();
    if (!is_read_whole(around_bytes, elements * element_bytes_,
                       elements / selection.block[rank - 1]))
      return read_blocks(piece);
    if (around_bytes <= kPieceBytes || around.elements() == 1) return read_around(piece, around);
    unsigned d = 0;
    while (around.count[d] == 1) ++d;
    if (const std::uint64_t count = selection.count[d]; count > 1) {
      BENTO_TRY(read(piece.blocks(d, 0, count / 2)));
      return read(piece.blocks(d, count / 2, count - count / 2));
    }
    const std::uint64_t block = selection.block[d];
    BENTO_TRY(read(piece.elements(d, 0, block / 2)));
    return read(piece.elements(d, block / 2, block - block / 2));
  }

 private:
  Status read_around(const Piece& piece, const Box& around) {
    const RegularSelection& selection = piece.selection;
    Box grid = selection.packed_grid();
    grid.start = piece.packed;
    around_.resize(static_cast<std::size_t>(around.count.bytes(element_bytes_)));
    BENTO_TRY(read_box(object_, state_, around, around_.data()));
    if (is_contiguous_in(grid_, grid)) {
      selection.gather(around, around_.data(),
                       packed_ + row_major_offset(grid_, grid) * element_bytes_, element_bytes_);
      return {};
    }
    block_.resize(static_cast<std::size_t>(grid.count.bytes(element_bytes_)));
    selection.gather(around, around_.data(), block_.data(), element_bytes_);
    copy_box(grid, grid, block_.data(), grid_, packed_, element_bytes_);
    return {};
  }

  Status read_blocks(const Piece& piece) {
    for (std::uint64_t i = 0; i < piece.selection.boxes(); ++i) {
      const Box box = piece.selection.box(i);
      Box to = piece.selection.packed_box(i);
      for (unsigned d = 0; d < to.rank(); ++d) to.start[d] += piece.packed[d];
      block_.resize(static_cast<std::size_t>(box.count.bytes(element_bytes_)));
      BENTO_TRY(read_box(object_, state_, box, block_.data()));
      copy_box(to, to, block_.data(), grid_, packed_, element_bytes_);
    }
    return {};
  }

  Object* object_;
  DatasetState& state_;
  std::size_t element_bytes_;
  Box grid_;
  std::byte* packed_;
  std::vector<std::byte> around_;
  std::vector<std::byte> block_;
};

/// Runs that follow each other in the selection and are read together.
Status read_runs(Object* object, DatasetState& state, std::span<const RunBox> runs,
                 const Box& around, std::vector<std::byte>& scratch, std::byte* packed) {
  const std::size_t element_bytes = state.element_bytes;
  scratch.resize(static_cast<std::size_t>(around.count.bytes(element_bytes)));
  BENTO_TRY(read_box(object, state, around, scratch.data()));
  for (const RunBox& run : runs) {
    const unsigned last = run.box.rank() - 1;
    const std::size_t bytes = static_cast<std::size_t>(run.box.count[last]) * element_bytes;
    Box row = run.box;
    for (unsigned d = 0; d < last; ++d) row.count[d] = 1;
    for (const std::uint64_t at : run.rows) {
      std::memcpy(packed + at * element_bytes,
                  scratch.data() + row_major_offset(around, row) * element_bytes, bytes);
      unsigned d = last;
      while (d > 0 && ++row.start[d - 1] == run.box.start[d - 1] + run.box.count[d - 1]) {
        row.start[d - 1] = run.box.start[d - 1];
        --d;
      }
    }
  }
  return {};
}

Status read_all_runs(Object* object, DatasetState& state, std::span<const RunBox> runs,
                     std::byte* packed) {
  std::vector<std::byte> scratch;
  while (!runs.empty()) {
    Box around = runs.front().box;
    std::uint64_t wanted = around.count.bytes(state.element_bytes);
    std::uint64_t rows = runs.front().rows.size();
    std::size_t together = 1;
    for (; together < runs.size(); ++together) {
      const RunBox& next = runs[together];
      Box grown = around;
      grow(grown, next.box);
      const std::uint64_t more = wanted + next.box.count.bytes(state.element_bytes);
      const std::uint64_t bytes = grown.count.bytes(state.element_bytes);
      if (bytes > kPieceBytes || !is_read_whole(bytes, more, rows + next.rows.size())) break;
      around = grown;
      wanted = more;
      rows += next.rows.size();
    }
    BENTO_TRY(read_runs(object, state, runs.first(together), around, scratch, packed));
    runs = runs.subspan(together);
  }
  return {};
}

}  // namespace

Status read_sparse(Object* object, DatasetState& state, const SelectionShape& shape,
                   std::byte* packed) {
  if (shape.form == SelectionShape::Form::kRuns)
    return read_all_runs(object, state, shape.runs, packed);
  RegularReader reader(object, state, *shape.regular, packed);
  return reader.read({*shape.regular, Dims(shape.box.rank())});
}

}  // namespace bento::vol
