// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which records of a dataset can still be seen: what a newer record covers, or a change of extent
/// has cut off, is dead. Dead stays dead.
#pragma once

#include <vector>

#include "core/base/error.hpp"
#include "core/records/index.hpp"

namespace bento {

/// For each record of `dataset`, by position: is some element of it visible? Records that overlap
/// no other cost a few comparisons each, O(n log n) in all. Errors: kCorrupt (no such dataset).
Result<std::vector<bool>> live_records(const Index& index, DatasetNumber dataset);

}  // namespace bento
