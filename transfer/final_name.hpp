// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Whether a container in a cache can get the name that its program gave it. Source:
/// docs/transfer.md.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.hpp"

namespace bento::transfer {

/// May a container of so many physical files get this name? The rules of creating it there. Errors:
/// kNotFound (no folder), kPermission, kExists (`exclusive`; a file in the way that must not be
/// lost), kBusy (a program writes to what has the name).
Status check_final_name(const std::string& final_name, std::uint32_t files, bool exclusive);

}  // namespace bento::transfer
