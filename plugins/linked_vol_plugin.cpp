// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Entry points by which the HDF5 library finds the connector. Nothing else is exported from the
/// module, and nothing happens when it is loaded: the library opens every module of its plugin
/// folder and closes those that it did not look for.
#include <H5PLextern.h>

#include "vol/callbacks/callbacks.hpp"

extern "C" {

__attribute__((visibility("default"))) H5PL_type_t H5PLget_plugin_type(void) {
  return H5PL_TYPE_VOL;
}

__attribute__((visibility("default"))) const void* H5PLget_plugin_info(void) {
  return &bento::vol::connector_class();
}
}
