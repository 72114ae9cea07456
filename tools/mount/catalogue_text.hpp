// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What a mounted container says of itself in catalogue.txt.
#pragma once

#include <string>

#include "core/offline/survey.hpp"

namespace bento::tools {

/// Files, steps with the datasets that each wrote, and streams; at most some thousand lines of
/// each. What cannot be read is said in its place.
std::string catalogue_text(const Survey& survey);

}  // namespace bento::tools
