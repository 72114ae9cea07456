// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// `h5bento transfer status`, and waiting for a file to arrive.
#pragma once

#include <string>

#include "tools/command.hpp"

namespace bento::tools {

void add_transfer_status(Tool& tool, Command& group);

/// The transfer file that was given, or the usual one; absolute.
std::string named_transfer_file(const std::string& given);

/// Shows how far it is until everything for `destination` (empty: everything) has arrived or
/// failed. kFound if something failed.
Result<ExitStatus> follow_transfer(Output& out, const std::string& file,
                                   const std::string& destination);

}  // namespace bento::tools
