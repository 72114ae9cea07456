// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What a reader gets of a dataset's elements that nobody has written, and between which others of
/// them it may be stored. Pieces with small gaps between them then become one record.
#pragma once

#include <cstddef>
#include <vector>

#include "core/geometry/box.hpp"
#include "core/records/value_range.hpp"

namespace bento {

struct UnwrittenElements {
  std::vector<std::byte> value;  ///< of each; empty: they are not to be stored
  Dims most;  ///< no gap is longer, in each dimension: one of a chunk would allocate that
  ValueRange range = ValueRange::everything();  ///< of `value`
};

}  // namespace bento
