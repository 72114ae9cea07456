// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What must hold of a filtered record before it is decoded.
/// Source: docs/format.md, "Filtered records".
#pragma once

#include "core/base/error.hpp"
#include "core/records/record.hpp"

namespace bento::vol {

/// Errors: kCorrupt unless a filtered record lies in one chunk of this grid, which also bounds what
/// it decodes to.
Status check_filtered(const Record& record, const Dims& chunk);

}  // namespace bento::vol
