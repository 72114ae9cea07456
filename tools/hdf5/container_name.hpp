// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What copies of containers have in common.
#pragma once

#include <string>

#include "core/base/error.hpp"
#include "core/io/file.hpp"
#include "core/offline/survey.hpp"

namespace bento::tools {

/// Under which name SION shall know a container of one file, which is made under another.
Status call_container(File& file, const std::string& name);
/// Errors: kPermission (another program changed it through its view; that would be lost).
Status check_edited(const Survey& survey);

}  // namespace bento::tools
