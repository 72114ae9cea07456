// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Entry points by which the HDF5 library finds the file driver, as those of the connector in
/// vol_plugin.cpp.
#include <H5PLextern.h>

#include "vfd/driver.hpp"

extern "C" {

__attribute__((visibility("default"))) H5PL_type_t H5PLget_plugin_type(void) {
  return H5PL_TYPE_VFD;
}

__attribute__((visibility("default"))) const void* H5PLget_plugin_info(void) {
  return &bento::vfd::driver_class();
}
}
