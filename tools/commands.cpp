// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The table of all commands. To add one: a line here, and a file tools/NAME_command.cpp with its
/// function; the order is that of --help; tools/hdf5/NAME_command.cpp and below the #if, if it
/// needs HDF5.
#include "tools/command.hpp"

namespace bento::tools {

void add_info(Tool& tool);
void add_layout(Tool& tool);
void add_verify(Tool& tool);
#if !H5BENTO_TOOL_MODULE
void add_transfer(Tool& tool);
#endif
#if H5BENTO_TOOL_HDF5
#if !H5BENTO_TOOL_MODULE
void add_check(Tool& tool);
void add_mount(Tool& tool);
#endif
void add_defrag(Tool& tool);
void add_export(Tool& tool);
void add_find(Tool& tool);
void add_import(Tool& tool);
void add_ls(Tool& tool);
void add_repair(Tool& tool);
void add_steps(Tool& tool);
void add_view(Tool& tool);
#endif

namespace {

// One a line, so that two changes meet seldom.
// clang-format off
constexpr AddCommand kCommands[] = {
    add_info,
#if H5BENTO_TOOL_HDF5
    add_ls,
    add_steps,
#endif
    add_layout,
#if H5BENTO_TOOL_HDF5
    add_find,
#endif
    add_verify,
#if H5BENTO_TOOL_HDF5
    add_repair,
    add_defrag,
    add_export,
    add_import,
    add_view,
#endif
#if H5BENTO_TOOL_HDF5 && !H5BENTO_TOOL_MODULE
    add_mount,
    add_check,
#endif
#if !H5BENTO_TOOL_MODULE
    add_transfer,
#endif
};
// clang-format on

}  // namespace

void add_commands(Tool& tool) {
  for (const AddCommand add : kCommands) add(tool);
}

}  // namespace bento::tools
