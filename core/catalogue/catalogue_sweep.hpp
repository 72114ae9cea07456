// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Everything in the catalogue of physical file 0 that a root refers to. What is left is free to be
/// written again, once no valid root slot holds another root. Source: docs/format.md, "Catalogue".
#pragma once

#include <vector>

#include "core/base/error.hpp"
#include "core/catalogue/catalogue.hpp"
#include "core/layout/root.hpp"

namespace bento {

/// Walks index, skeletons of all kept steps, stream table and both native views that the root
/// names; reads no records and no skeleton pages. META2 is not among them. Errors: kCorrupt, kIo.
Result<std::vector<CatalogueRange>> ranges_in_use(File& file, const FilePlan& plan,
                                                  const Root& root);

}  // namespace bento
