// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which process of which job this is, found without talking to anybody: from MPI if the program
/// uses it, else from what the launcher has put into the environment, else from the configuration.
/// MPI is looked up at run time, so the driver links none. Source: docs/vfd.md, "Rank, size, job".
#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.hpp"
#include "vfd/driver_config.hpp"

namespace bento::vfd {

struct Who {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::string job;     ///< empty: nothing tells this run from the one before
  std::string source;  ///< where rank and size come from, for errors
};

/// A process of which nobody says anything is rank 0 of 1. Errors: kInvalidArgument (a rank that is
/// not below the size, more processes than a container has tasks).
Result<Who> who_are_we(const DriverConfig& config, const Environment& environment);

}  // namespace bento::vfd
