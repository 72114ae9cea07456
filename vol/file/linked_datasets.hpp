// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which datasets a skeleton holds, and under which path. HDF5 deletes a dataset with its last
/// link, and tells nobody: which ones are gone is found out by looking which are still there.
#pragma once

#include <map>
#include <string>

#include "core/base/error.hpp"
#include "core/catalogue/paged_image.hpp"
#include "vol/file/file_context.hpp"

namespace bento::vol {

/// All datasets that hard links lead to from the root group of a skeleton, each with one of its
/// paths. Makes no communication: equal on ranks with equal skeletons. Errors: kInternal.
Result<std::map<TokenBytes, std::string>> linked_datasets(const std::string& path,
                                                          const PagedImage& skeleton);

/// All objects that hard links lead to, the root group included, with their kinds. As above.
Result<LinkedObjects> linked_objects(const std::string& path, const PagedImage& skeleton);

}  // namespace bento::vol
