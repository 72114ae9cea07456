// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Virtual datasets are read by native code, which opens their source files by itself and would see
/// only the skeleton of a container: fill values in place of data. Until mappings are expanded
/// here, such a read is refused.
#pragma once

#include "core/base/error.hpp"
#include "vol/file/object.hpp"

namespace bento::vol {

/// Errors: kUnsupported if the dataset is virtual and one of its sources is a container; names
/// dataset's source.
Status check_virtual_sources(const Object* dataset, bool in_container);

}  // namespace bento::vol
