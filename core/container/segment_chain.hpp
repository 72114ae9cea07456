// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Index segments in the catalogue: each begins with the reference to the one before it, so a
/// commit writes one segment whatever the number of earlier ones. Source: docs/format.md, "Segment
/// chain".
#pragma once

#include <vector>

#include "core/base/error.hpp"
#include "core/container/catalogue.hpp"

namespace bento {

/// Appends one encoded segment that follows `previous`.
Result<CatalogueRef> append_segment(Catalogue& catalogue, const CatalogueRef& previous,
                                    std::span<const std::byte> segment, Position& end);

/// Encoded segments from the one after `until` (absent: from the first) to `newest`, oldest first.
/// Errors: kCorrupt (checksum, a chain that does not lead back to `until`).
Result<std::vector<std::vector<std::byte>>> read_segments(Catalogue& catalogue,
                                                          const CatalogueRef& newest,
                                                          const CatalogueRef& until);

}  // namespace bento
