// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tools/hdf5/start.hpp"

#include <cstdlib>

#include <hdf5.h>
#include <unistd.h>

#include "core/config/config.hpp"

namespace bento::tools {

bool may_write(const std::string& path) {
  return ::access(path.c_str(), W_OK) == 0;
}

HowToReach& how_to_reach_hdf5() {
  static HowToReach how;
  return how;
}

Status start_hdf5() {
  ::unsetenv("HDF5_VOL_CONNECTOR");
  ::unsetenv("HDF5_DRIVER");
  ::unsetenv("HDF5_DRIVER_CONFIG");
  for (const auto& key : config_keys()) ::unsetenv(variable_name(key.name).c_str());
  if (how_to_reach_hdf5()) BENTO_TRY(how_to_reach_hdf5()());
  if (H5open() < 0 || H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) < 0)
    return fail(Code::kInternal, "the HDF5 library cannot be started");
  return {};
}

}  // namespace bento::tools
