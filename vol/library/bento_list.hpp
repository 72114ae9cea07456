// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A file access list that opens files through this connector, for our own library calls.
#pragma once

#include <string>

#include "core/base/error.hpp"
#include "hdf5/base/handle.hpp"

namespace bento::vol {

/// Works whether or not the connector was loaded as a plugin. `config` is a connector string.
/// Errors: kInternal.
Result<PlistHandle> bento_list(const std::string& config = {});
/// What is made with this list may hold all that a copied file may hold: by default the library
/// refuses attributes above 64 KiB. Errors: kInternal.
Status allow_all_formats(hid_t fapl);

}  // namespace bento::vol
