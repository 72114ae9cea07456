// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Paths of datasets by their numbers, for commands that work without HDF5 but can say more with
/// it.
#pragma once

#include <map>
#include <string>

#include "core/records/record.hpp"

namespace bento::tools {

/// Those of the newest step; empty if they cannot be read, or without HDF5.
std::map<DatasetNumber, std::string> dataset_names(const std::string& path);

}  // namespace bento::tools
