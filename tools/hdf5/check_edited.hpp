// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What another program changed through the native view is not in a copy.
#pragma once

#include "core/base/error.hpp"
#include "core/offline/survey.hpp"

namespace bento::tools {

/// Errors: kPermission (another program changed it through its view; that would be lost).
Status check_edited(const Survey& survey);

}  // namespace bento::tools
