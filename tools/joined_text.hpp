// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What commands say of a container of the file driver, which holds the HDF5 files of processes.
#pragma once

#include <string>

#include "core/joined/joined_report.hpp"
#include "tools/command.hpp"

namespace bento::tools {

/// Prints all that is known, and sets the answer for scripts.
void print_joined(Output& out, const std::string& path, const JoinedReport& report);
/// `h5bento info` of such a container.
Result<ExitStatus> joined_info(Output& out, const std::string& path);
/// `h5bento verify` of one; `json` is its answer.
Result<ExitStatus> joined_verify(Output& out, Json& json, const std::string& path);
/// "none", "there", "edited".
std::string joined_view_name(JoinedView view);

}  // namespace bento::tools
