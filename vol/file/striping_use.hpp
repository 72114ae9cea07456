// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How a container's files are spread over servers: what was asked for by configuration or by hints
/// of MPI, and what an application that asks is told. Source: docs/performance.md.
#pragma once

#include <string>
#include <vector>

#include "core/config/config.hpp"
#include "core/container/container.hpp"
#include "core/io/striping.hpp"
#include "vol/mpi/mpi_access.hpp"

namespace bento::vol {

/// Where nobody has given a key, the info object's hint holds.
void take_striping_hints(RequestedConfig& requested, const MpiAccess& access);
/// What a new container is to have; opens its files so that they get it.
void ask_for_striping(ContainerOptions& options, const Config& config);
/// What physical file 0 has: as the file system says, or the alignment of its chunks that was asked
/// for where there are no stripes. Nothing of what is not known.
Striping striping_in_use(Container& container, const Config& config);
/// The same in the statistics.
void note_striping_in_use(const std::string& name, Container& container, const Config& config);
/// The same as hints.
std::vector<UsedHint> used_striping_hints(Container& container, const Config& config);

}  // namespace bento::vol
