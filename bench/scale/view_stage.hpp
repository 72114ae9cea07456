// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What the simulation needs of HDF5 to have a native view built at the close. Two sources have
/// these functions: the one for builds without HDF5 says that there is none.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "bench/scale/scenario.hpp"

namespace bento::scale {

struct ViewStage {
  ViewBuilder view;
  std::vector<std::byte> skeleton;                ///< an HDF5 file with the datasets
  std::vector<std::array<std::byte, 16>> tokens;  ///< of them, by number
};

bool has_view_stage();
ViewStage make_view_stage(const Scenario& scenario, std::uint64_t ranks);

}  // namespace bento::scale
