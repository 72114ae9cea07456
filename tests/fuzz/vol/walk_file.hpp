// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What a program may do with a file that somebody gave it: open it, go through it, read all of it.
#pragma once

#include <cstdint>
#include <string>

#include <hdf5.h>

namespace bento::fuzz {

/// What was seen; tells the fuzzer's user whether edits leave anything to read.
struct Seen {
  std::uint64_t files = 0;     ///< opened, counting each step
  std::uint64_t datasets = 0;  ///< opened
  std::uint64_t reads = 0;     ///< that gave data
};

/// Opens a file with an access list and reads every attribute and dataset: whole, in part, and
/// chunk by chunk; nothing that takes more than a few MiB. Errors are what it is for.
void walk(const char* name, hid_t access, Seen& seen);

/// A container as of its newest step and some others, and the questions about steps and values.
void walk_container(const std::string& name, Seen& seen);

/// Opens it for writing, changes something, and closes it with a native view; then offline checks
/// and recovery.
void work_on_container(const std::string& name);

}  // namespace bento::fuzz
