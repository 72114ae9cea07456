// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Dataspaces from boxes, for the calls into the library that build a native view.
#pragma once

#include <cstdint>

#include "core/base/error.hpp"
#include "core/geometry/box.hpp"
#include "hdf5/base/handle.hpp"

namespace bento::vol {

/// A dataspace of this extent; a scalar one for rank 0.
SpaceHandle simple_space(const Dims& extent);
/// Selects one box (not of rank 0).
Status select_box(hid_t space, const Box& box);
/// Selects `repeat` boxes like `first`, `stride` elements apart along dimension `dim`.
Status select_boxes(hid_t space, const Box& first, unsigned dim, std::uint64_t repeat,
                    std::uint64_t stride);

}  // namespace bento::vol
