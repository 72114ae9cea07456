// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#pragma once

namespace bento::tools {

/// The program `h5bento` from its arguments to its exit status. Once in a process.
int run_program(int argc, char** argv);

}  // namespace bento::tools
