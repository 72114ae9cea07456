// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tools/hdf5/start.hpp"

#include <cstdlib>

#include <hdf5.h>

namespace bento::tools {

Status start_hdf5() {
  ::unsetenv("HDF5_VOL_CONNECTOR");
  ::unsetenv("HDF5_DRIVER");
  ::unsetenv("HDF5_DRIVER_CONFIG");
  if (H5open() < 0 || H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) < 0)
    return fail(Code::kInternal, "the HDF5 library cannot be started");
  return {};
}

}  // namespace bento::tools
