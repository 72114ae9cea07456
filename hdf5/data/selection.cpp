// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/data/selection.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "hdf5/data/meant_selection.hpp"

namespace bento::vol {

Result<Dims> extent_of(hid_t space) {
  std::array<hsize_t, kMaxRank>
      dims;  // NOLINT(cppcoreguidelines-pro-type-member-init): set by the call
  const int rank = H5Sget_simple_extent_dims(space, dims.data(), nullptr);
  if (rank < 0) return fail(Code::kInternal, "extent unreadable");
  if (rank == 0 && H5Sget_simple_extent_type(space) == H5S_NULL)
    return fail(Code::kInvalidArgument, "a null dataspace has no extent");
  return Dims(std::span<const std::uint64_t>(dims.data(), static_cast<std::size_t>(rank)));
}

namespace {

Status take_bounds(hid_t space, const Dims& extent, Box& box) {
  std::array<hsize_t, kMaxRank> first;  // NOLINT(cppcoreguidelines-pro-type-member-init): as above
  std::array<hsize_t, kMaxRank> last;   // NOLINT(cppcoreguidelines-pro-type-member-init)
  const unsigned rank = extent.rank();
  bool inside = H5Sget_select_bounds(space, first.data(), last.data()) >= 0;
  for (unsigned d = 0; inside && d < rank; ++d) {
    inside = last[d] < extent[d];
    last[d] = last[d] - first[d] + 1;
  }
  if (!inside)
    return fail(Code::kInvalidArgument,
                "the selection and its offset leave the dataspace's extent");
  box.start = Dims(std::span<const std::uint64_t>(first.data(), rank));
  box.count = Dims(std::span<const std::uint64_t>(last.data(), rank));
  return {};
}

}  // namespace

Result<Box> bounds_of(hid_t space, const Dims& extent) {
  Box box;
  BENTO_TRY(take_bounds(space, extent, box));
  return box;
}

// Where the library takes a union for other elements there was a stride, which stays in the form
// also when that has become a single block (MeantSelection). Every transfer asks this: no more
// calls than needed. What fills its bounds has a regular form, so it is not asked whether it has
// one; if it had none, the library would print that it was asked in vain.
Result<bool> single_block(hid_t space, const Dims& extent, std::uint64_t selected, Box& block) {
  BENTO_TRY(take_bounds(space, extent, block));
  if (block.elements() != selected) return false;
  std::array<hsize_t, kMaxRank>
      stride;  // NOLINT(cppcoreguidelines-pro-type-member-init): set by the call
  if (H5Sget_regular_hyperslab(space, nullptr, stride.data(), nullptr, nullptr) < 0) return false;
  for (unsigned d = 0; d < extent.rank(); ++d)
    if (stride[d] != 1) return false;
  return true;
}

namespace {

// Sequences of the library's selection iterator, cut at the ends of rows. They come in selection
// order and carry the selection's offset already.
Result<std::vector<Run>> runs_of(hid_t space, const Dims& extent) {
  std::vector<Run> runs;
  const hid_t iterator = H5Ssel_iter_create(space, 1, 0);
  if (iterator < 0) return fail(Code::kInternal, "no iterator for the selection");
  constexpr std::size_t kBatch = 1024;
  std::array<hsize_t, kBatch> offsets{};
  std::array<std::size_t, kBatch> lengths{};
  const unsigned last = extent.rank() - 1;
  std::uint64_t packed = 0;
  Status status;
  for (;;) {
    std::size_t sequences = 0;
    std::size_t elements = 0;
    if (H5Ssel_iter_get_seq_list(iterator, kBatch, SIZE_MAX / 2, &sequences, &elements,
                                 offsets.data(), lengths.data()) < 0) {
      status = fail(Code::kInternal, "the selection iterator failed");
      break;
    }
    if (sequences == 0) break;
    for (std::size_t i = 0; i < sequences; ++i) {
      std::uint64_t at = offsets[i];
      std::uint64_t left = lengths[i];
      while (left > 0) {
        Run run{Dims(extent.rank()),
                std::min<std::uint64_t>(left, extent[last] - at % extent[last]), packed};
        std::uint64_t rest = at;
        for (unsigned d = extent.rank(); d-- > 0;) {
          run.start[d] = rest % extent[d];
          rest /= extent[d];
        }
        at += run.length;
        left -= run.length;
        packed += run.length;
        runs.push_back(run);
      }
    }
  }
  H5Ssel_iter_close(iterator);
  if (!status) return fail(std::move(status).error());
  return runs;
}

void set_box(SelectionShape& shape, const Box& box) {
  shape.form = SelectionShape::Form::kBox;
  shape.box = box;
}

}  // namespace

Result<std::optional<RegularSelection>> regular_of(hid_t space) {
  if (H5Sget_select_type(space) != H5S_SEL_HYPERSLABS || H5Sis_regular_hyperslab(space) <= 0)
    return std::nullopt;
  std::array<hsize_t, kMaxRank> start{};
  std::array<hsize_t, kMaxRank> stride{};
  std::array<hsize_t, kMaxRank> count{};
  std::array<hsize_t, kMaxRank> block{};
  if (H5Sget_regular_hyperslab(space, start.data(), stride.data(), count.data(), block.data()) < 0)
    return fail(Code::kInternal, "hyperslab unreadable");
  const auto rank = static_cast<unsigned>(H5Sget_simple_extent_ndims(space));
  RegularSelection regular;
  regular.start = Dims(rank);
  regular.stride = Dims(rank);
  regular.count = Dims(rank);
  regular.block = Dims(rank);
  for (unsigned d = 0; d < rank; ++d) {
    if (count[d] == H5S_UNLIMITED || block[d] == H5S_UNLIMITED) return std::nullopt;
    regular.start[d] = start[d];
    regular.stride[d] = stride[d];
    regular.count[d] = count[d];
    regular.block[d] = block[d];
  }
  return regular;
}

namespace {

/// Of a MeantSelection, of so many elements.
Result<SelectionShape> shape_of_meant(hid_t space, const Dims& extent, H5S_sel_type kind,
                                      std::uint64_t elements) {
  SelectionShape shape;
  shape.elements = elements;
  if (extent.rank() == 0 || kind == H5S_SEL_ALL) {
    set_box(shape, Box::whole(extent));
    return shape;
  }
  // The bounds include the selection's offset (H5Soffset_simple), which the hyperslab's numbers do
  // not.
  BENTO_ASSIGN(shape.box, bounds_of(space, extent));
  if (shape.box.elements() == shape.elements && kind == H5S_SEL_HYPERSLABS) {
    shape.form = SelectionShape::Form::kBox;
    return shape;
  }
  BENTO_ASSIGN(shape.regular, regular_of(space));
  if (shape.regular) {
    if (shape.regular->packed_grid().elements() != shape.elements)
      return fail(Code::kInternal, "HDF5 takes a union of hyperslabs for other elements");
    shape.regular->start = shape.box.start;
    shape.regular->normalise();
    shape.form = SelectionShape::Form::kRegular;
    return shape;
  }
  BENTO_ASSIGN(const auto runs, runs_of(space, extent));
  shape.runs = merge_runs(runs);
  shape.form = SelectionShape::Form::kRuns;
  return shape;
}

Status take_block(hid_t space, const Dims& extent, std::uint64_t elements, SelectionShape& shape) {
  BENTO_ASSIGN(const bool block, single_block(space, extent, elements, shape.box));
  if (!block) return {};
  shape.form = SelectionShape::Form::kBox;
  shape.elements = elements;
  return {};
}

}  // namespace

// What is one block of so many elements need not be asked how many it has.
Status take_shape(hid_t space, std::uint64_t likely, SelectionShape& shape) {
  const H5S_sel_type kind = H5Sget_select_type(space);
  const bool asks_less = likely != 0 && kind == H5S_SEL_HYPERSLABS;
  Dims extent;
  if (asks_less) {
    BENTO_ASSIGN(extent, extent_of(space));
    BENTO_TRY(take_block(space, extent, likely, shape));
    if (shape.form == SelectionShape::Form::kBox) return {};
  }
  const hssize_t elements = H5Sget_select_npoints(space);
  if (elements < 0) return fail(Code::kInvalidArgument, "the selection has no size");
  if (elements == 0) return {};
  const auto count = static_cast<std::uint64_t>(elements);
  if (!asks_less) {
    BENTO_ASSIGN(extent, extent_of(space));
  }
  if (kind != H5S_SEL_HYPERSLABS) {
    BENTO_ASSIGN(shape, shape_of_meant(space, extent, kind, count));
    return {};
  }
  if (count != likely) BENTO_TRY(take_block(space, extent, count, shape));
  if (shape.form == SelectionShape::Form::kBox) return {};
  BENTO_ASSIGN(const MeantSelection meant, MeantSelection::of_hyperslabs(space, elements));
  BENTO_ASSIGN(shape, shape_of_meant(meant.get(), extent, kind, count));
  return {};
}

Result<SelectionShape> shape_of(hid_t space) {
  SelectionShape shape;
  BENTO_TRY(take_shape(space, 0, shape));
  return shape;
}

Status for_each_box(const SelectionShape& shape, std::size_t element_bytes,
                    const BoxVisitor& visit) {
  switch (shape.form) {
    case SelectionShape::Form::kEmpty:
      return {};
    case SelectionShape::Form::kBox: {
      const std::size_t bytes = shape.elements * element_bytes;
      return visit(
          shape.box,
          [&](const std::byte* packed, std::byte* data) { std::memcpy(data, packed, bytes); },
          [&](const std::byte* data, std::byte* packed) { std::memcpy(packed, data, bytes); });
    }
    case SelectionShape::Form::kRegular: {
      const Box grid = shape.regular->packed_grid();
      for (std::uint64_t i = 0; i < shape.regular->boxes(); ++i) {
        const Box part = shape.regular->packed_box(i);
        BENTO_TRY(visit(
            shape.regular->box(i),
            [&](const std::byte* packed, std::byte* data) {
              copy_box(part, grid, packed, part, data, element_bytes);
            },
            [&](const std::byte* data, std::byte* packed) {
              copy_box(part, part, data, grid, packed, element_bytes);
            }));
      }
      return {};
    }
    case SelectionShape::Form::kRuns:
      for (const auto& run : shape.runs) {
        const std::size_t row = run.box.count[run.box.rank() - 1] * element_bytes;
        BENTO_TRY(visit(
            run.box,
            [&](const std::byte* packed, std::byte* data) {
              for (const auto at : run.rows) {
                std::memcpy(data, packed + at * element_bytes, row);
                data += row;
              }
            },
            [&](const std::byte* data, std::byte* packed) {
              for (const auto at : run.rows) {
                std::memcpy(packed + at * element_bytes, data, row);
                data += row;
              }
            }));
      }
      return {};
  }
  return {};
}

}  // namespace bento::vol
