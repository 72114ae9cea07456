// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What several commands say of a container, in words and as one word for scripts.
#pragma once

#include <string>
#include <vector>

#include "core/offline/survey.hpp"
#include "tools/output.hpp"

namespace bento::tools {

/// "closed", "being written", "not closed", "empty" (nothing committed yet).
std::string state_name(const Survey& survey);
std::string state_text(const Survey& survey);
/// Who writes it.
std::string writer_text(const Survey& survey);
/// "none", "there", "edited".
std::string view_name(ViewState view);
std::string view_text(const Survey& survey);
/// Prints what is wrong, and sets "problems".
void print_problems(Output& out, const std::vector<std::string>& problems);

}  // namespace bento::tools
