// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which objects have references in them. A copy into another file by H5Ocopy has none.
#pragma once

#include <optional>
#include <string>

#include <hdf5.h>

#include "core/base/error.hpp"

namespace bento::vol {

/// The first place in an object, or in what is below a group, whose type can hold references, as
/// "its attribute 'x'" or "its elements"; nothing if there is none. Errors: kInternal.
Result<std::optional<std::string>> holds_references(hid_t object);

}  // namespace bento::vol
