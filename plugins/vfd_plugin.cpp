// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The file driver, for any HDF5, with and without MPI; see bound_plugin.hpp.
#include "binding/hdf5_binding.hpp"
#include "plugins/bound_plugin.hpp"
#include "vfd/driver.hpp"

namespace bento::plugins {

namespace {

/// Before the first call that works with files: when HDF5 loads the driver of HDF5_DRIVER, its
/// variables have no values yet.
bool is_complete() {
  const auto why = binding::complete();
  if (why) say(*why);
  return !why;
}

H5FD_t* open_file(const char* name, unsigned flags, hid_t fapl, haddr_t maxaddr) {
  return is_complete() ? vfd::driver_class().open(name, flags, fapl, maxaddr) : nullptr;
}

herr_t delete_file(const char* name, hid_t fapl) {
  return is_complete() ? vfd::driver_class().del(name, fapl) : -1;
}

}  // namespace

const char* const kName = "the file driver";
const H5PL_type_t kType = H5PL_TYPE_VFD;

std::optional<Misfit> misfit(const void* code) {
  (void)code;
  return std::nullopt;
}

const void* plugin_class() {
  static const H5FD_class_t kClass = [] {
    H5FD_class_t made = vfd::driver_class();
    made.open = open_file;
    made.del = delete_file;
    return made;
  }();
  return &kClass;
}

}  // namespace bento::plugins
