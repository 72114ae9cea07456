// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What makes other files of containers on their way, for the daemon.
#pragma once

#include "transfer/assembly.hpp"

namespace bento::tools {

/// None in a build without HDF5.
transfer::Assembler assembler();
transfer::ViewMaker view_maker();

}  // namespace bento::tools
