// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// From a file name to what it means for the driver: a stream of a container, or an ordinary file.
/// Source: docs/vfd.md, "Which file goes where".
#pragma once

#include <memory>
#include <string>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/joined/joined_stream.hpp"
#include "vfd/driver_config.hpp"

namespace bento::vfd {

/// The stream that `name` means; null if it means an ordinary file. `flags` are HDF5's. Errors:
/// those of join(); kExists (to be created anew, and there is an ordinary file); kUnsupported
/// (SWMR).
Result<std::shared_ptr<JoinedStream>> open_stream(const char* name, unsigned flags,
                                                  const DriverConfig& config);

/// What a program is told that wants SWMR.
Error no_swmr(const std::string& name);

/// Removes the stream that `name` means. False: it means an ordinary file. Errors: those of
/// remove_stream().
Result<bool> delete_stream(const char* name, const DriverConfig& config);

}  // namespace bento::vfd
