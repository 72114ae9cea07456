// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// From an HDF5 selection to boxes. "Packed" means: the selected elements one behind the other in
/// selection order, as H5Dgather delivers them.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/geometry/box.hpp"
#include "core/geometry/runs.hpp"

namespace bento::vol {

/// Extent of a simple or scalar dataspace (rank 0). Errors: kInvalidArgument for H5S_NULL.
Result<Dims> extent_of(hid_t space);

/// Smallest box around the selection of `space`, which has this extent and is not empty; its offset
/// counts. Errors: kInvalidArgument (it leaves the extent).
Result<Box> bounds_of(hid_t space, const Dims& extent);

/// Is the selection of `space`, of hyperslabs with so many elements, one block for certain: an
/// ordinary one, which no MeantSelection need be made of? Then `block` is that. Errors: those of
/// bounds_of().
Result<bool> single_block(hid_t space, const Dims& extent, std::uint64_t selected, Box& block);

/// What a selection covers, in one of three forms, cheapest first.
struct SelectionShape {
  enum class Form { kEmpty, kBox, kRegular, kRuns } form = Form::kEmpty;
  Box box;                                  ///< kBox: the selection; otherwise its bounding box
  std::optional<RegularSelection> regular;  ///< kRegular
  std::vector<RunBox> runs;  ///< kRuns: boxes with the packed position of each of their rows
  std::uint64_t elements = 0;
};

/// The selection as the library's regular hyperslab, without its offset; nothing if it is none, or
/// has no end.
Result<std::optional<RegularSelection>> regular_of(hid_t space);

/// Decomposes the selection of `space`, as it was meant (MeantSelection). Errors: kInvalidArgument
/// (a selection the library cannot describe, or one that leaves the extent), those of
/// MeantSelection::of.
Result<SelectionShape> shape_of(hid_t space);
/// The same, into a `shape` that is new: to hand one on would be a good part of a small transfer.
/// `likely`: how many elements it has if all is well, which is then not asked; 0 if nobody knows.
Status take_shape(hid_t space, std::uint64_t likely, SelectionShape& shape);

/// Calls `visit(box, pack, unpack)` for each box of the selection. `pack(packed, out)` copies the
/// box's elements out of a packed buffer into row-major order; `unpack(in, packed)` is the reverse.
using PackFn = std::function<void(const std::byte* packed, std::byte* box_data)>;
using UnpackFn = std::function<void(const std::byte* box_data, std::byte* packed)>;
using BoxVisitor =
    std::function<Status(const Box& box, const PackFn& pack, const UnpackFn& unpack)>;
Status for_each_box(const SelectionShape& shape, std::size_t element_bytes,
                    const BoxVisitor& visit);

}  // namespace bento::vol
