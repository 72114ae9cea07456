// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The connector without MPI, for any HDF5; see bound_plugin.hpp.
#include <cstdlib>
#include <string_view>

#include "binding/hdf5_binding.hpp"
#include "library/handles.hpp"
#include "plugins/bound_plugin.hpp"
#include "vol/callbacks/callbacks.hpp"

namespace bento::plugins {

const char* const kName = "the plugin without MPI";
const H5PL_type_t kType = H5PL_TYPE_VOL;

/// Where HDF5 has MPI the plugin built with that MPI is the one to use, unless the user wants this
/// one.
std::optional<Misfit> misfit(const void* code) {
  const char* const wanted = std::getenv("H5BENTO_PLUGIN");
  if ((wanted != nullptr && std::string_view(wanted) == "serial") ||
      !binding::has(code, "H5Pset_fapl_mpio"))
    return std::nullopt;
  return Misfit{
      "this HDF5 has MPI, and should use the plugin that is built with that MPI; for programs "
      "without MPI H5BENTO_PLUGIN=serial takes this one",
      Other::kWithMpi};
}

const void* plugin_class() {
  return &vol::connector_class();
}

}  // namespace bento::plugins

using namespace bento;

extern "C" {

const library::Hdf5Calls* h5bento_hdf5_calls();  // library/hdf5

/// What libh5bento.so asks of the image that serves this library; null if none does.
__attribute__((visibility("default"))) const library::Hdf5Calls* h5bento_hdf5_calls_for(
    const void* code) {
  if (!binding::serves_another(code)) {
    const auto why = binding::bind(code, binding::Variables::kNow);
    if (why) plugins::say(*why);
    return why ? nullptr : h5bento_hdf5_calls();
  }
  auto* const other = plugins::in_other_image<const library::Hdf5Calls*(const void*)>(
      code, "h5bento_hdf5_calls_for");
  return other == nullptr ? nullptr : other(code);
}
}
