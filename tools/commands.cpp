// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The table of all commands. To add one: a line here, and a file tools/NAME_command.cpp with its
/// function; tools/hdf5/NAME_command.cpp and below the #if, if it needs HDF5.
#include "tools/command.hpp"

namespace bento::tools {

void add_info(Tool& tool);
void add_verify(Tool& tool);
#if H5BENTO_TOOL_HDF5
void add_steps(Tool& tool);
#endif

namespace {

constexpr AddCommand kCommands[] = {
    add_info,
    add_verify,
#if H5BENTO_TOOL_HDF5
    add_steps,
#endif
};

}  // namespace

void add_commands(Tool& tool) {
  for (const AddCommand add : kCommands) add(tool);
}

}  // namespace bento::tools
