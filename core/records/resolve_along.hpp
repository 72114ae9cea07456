// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Of records that overlap along one dimension only, which is seen where: rows, slabs and steps.
/// Each is looked at once, where records that differ in several dimensions are halved again and
/// again (resolve.hpp).
#pragma once

#include <optional>
#include <vector>

#include "core/base/error.hpp"
#include "core/geometry/box.hpp"
#include "core/records/resolve.hpp"

namespace bento {

/// The dimension along which all candidates lie, if each of them covers the selection in every
/// other one. Nothing if there is none, and if all candidates cover the whole selection.
std::optional<unsigned> only_dimension(const Box& selection,
                                       const std::vector<const Candidate*>& candidates);

/// As resolve_latest(), for candidates of which only_dimension() is `dimension`, newest first.
/// O(n log n). Errors: the budget's.
Status resolve_along(unsigned dimension, const Box& selection,
                     const std::vector<const Candidate*>& newest_first, QueryBudget& budget,
                     Lookup& out);

}  // namespace bento
