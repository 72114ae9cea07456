// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Selections in the one form that the library can intersect and subtract: hyperslabs without an
/// offset.
#pragma once

#include <cstdint>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/geometry/box.hpp"
#include "hdf5/base/handle.hpp"

namespace bento::vol {

/// The selection of `space` as a hyperslab without an offset (H5Soffset_simple); of a scalar, of
/// points and of nothing a copy. Errors: kInvalidArgument (it leaves the extent).
Result<SpaceHandle> plain_selection(hid_t space);

/// Is it a union of hyperslabs in two or more dimensions that is none itself? Then the library
/// projects others wrongly onto it (docs/hdf5-traps.md). `space` is a MeantSelection.
Result<bool> is_irregular(hid_t space);

/// A selection of points as hyperslabs, in which the points come in ascending order and each once.
struct PointRound {
  SpaceHandle points;
  std::vector<std::uint64_t> order;  ///< which point of the selection each of them is
};
/// A point that is selected several times is once in each of several rounds, in the order of the
/// selection.
Result<std::vector<PointRound>> rounds_of_points(hid_t space);

/// Removes from the hyperslabs of `space` those of `gone`, which has the same extent.
Status subtract_selection(hid_t space, hid_t gone);

}  // namespace bento::vol
