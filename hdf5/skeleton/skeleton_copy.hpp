// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A skeleton opened a second time, for reading, beside or after the application's own open of it.
#pragma once

#include <string>

#include "core/base/error.hpp"
#include "core/catalogue/paged_image.hpp"
#include "hdf5/base/handle.hpp"

namespace bento::vol {

/// Opens a copy of `image` with the native connector. `path` serves messages. The copy lives as
/// long as the file is open. Errors: kInternal.
Result<FileHandle> open_skeleton_copy(const std::string& path, const PagedImage& image);

}  // namespace bento::vol
