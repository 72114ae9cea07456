// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Errors of files that were opened by a name that nobody else can use.
#pragma once

#include <string>

#include "core/base/error.hpp"

namespace bento::transfer {

/// The error names the file as people find it, `shown`, and not as it was opened, `at`.
Error readable(Error error, const std::string& at, const std::string& shown);

}  // namespace bento::transfer
