// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What one question to the index may cost. A file says in a few bytes that it holds 2^40 records,
/// or that a thousand pages have the same children: nobody is to wait, or run out of memory, for
/// that.
#pragma once

#include <cstdint>

#include "core/base/error.hpp"

namespace bento {

struct QueryBudget {
  std::uint64_t visits = 1ull << 28;  ///< of records, pages, and boxes
  std::uint64_t records = ~0ull;      ///< held in memory at once
  std::uint64_t boxes = ~0ull;        ///< pieces of the selection, held in memory at once
  /// Errors: kUnsupported once everything is used up.
  Status spend(std::uint64_t count = 1);
  /// May `held` records be in memory? Errors: kUnsupported.
  [[nodiscard]] Status hold(std::uint64_t held) const;
  /// The same for pieces.
  [[nodiscard]] Status hold_boxes(std::uint64_t held) const;
};

}  // namespace bento
