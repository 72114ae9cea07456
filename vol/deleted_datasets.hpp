// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// HDF5 deletes a dataset with its last link, and tells nobody: which datasets are gone is found
/// out by looking which ones are still there.
#pragma once

#include <set>
#include <string>

#include "core/base/error.hpp"
#include "core/container/paged_image.hpp"
#include "vol/file_context.hpp"

namespace bento::vol {

/// Tokens of all datasets that hard links lead to from the root group of a skeleton. Makes no
/// communication: equal on ranks with equal skeletons. Errors: kInternal.
Result<std::set<TokenBytes>> linked_datasets(const std::string& path, const PagedImage& skeleton);

}  // namespace bento::vol
