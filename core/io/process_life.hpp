// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Whether another process of this machine still lives.
#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

namespace bento {

/// Names the space in which numbers of processes mean the same: the running kernel, and what the
/// process sees of it. Empty if that cannot be told.
std::string process_space();

/// False only if there is no process of this number, in this process's space, that has memory. What
/// it has at `address` is looked at where that is allowed.
bool has_memory(pid_t process, std::uint64_t address);

}  // namespace bento
