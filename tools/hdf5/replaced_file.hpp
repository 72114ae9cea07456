// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What --force must not destroy: files of a container of several, and what a program is writing.
#pragma once

#include <string>

#include "core/base/error.hpp"

namespace bento::tools {

/// May the file of this name be replaced by what is made of the container, or other file, `source`?
/// Nothing there is fine. Errors: kExists (it is a physical file of the source; it is one of a
/// container of several files), kBusy (a program has it open for writing), kPermission, kIo.
Status check_may_be_replaced(const std::string& path, const std::string& source);

}  // namespace bento::tools
