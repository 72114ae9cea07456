// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The connector with MPI, for any HDF5 that has an MPI with the binary interface of the one that
/// this was compiled with; see bound_plugin.hpp.
#include <cstdlib>
#include <string_view>

#include <mpi.h>

#include "binding/hdf5_binding.hpp"
#include "plugins/bound_plugin.hpp"
#include "vol/callbacks/callbacks.hpp"

namespace bento::plugins {

namespace {

// A communicator is an address in Open MPI and a number in MPICH and all that follow its binary
// interface. This name is in every Open MPI, and in nothing else.
constexpr const char* kOnlyInOpenMpi = "ompi_mpi_comm_world";
#if defined(OPEN_MPI)
constexpr bool kForOpenMpi = true;
#else
constexpr bool kForOpenMpi = false;
#endif

}  // namespace

const char* const kName = kForOpenMpi ? "the plugin for Open MPI" : "the plugin for MPICH";
const H5PL_type_t kType = H5PL_TYPE_VOL;

std::optional<Misfit> misfit(const void* code) {
  const char* const wanted = std::getenv("H5BENTO_PLUGIN");
  if (wanted != nullptr && std::string_view(wanted) == "serial")
    return Misfit{"H5BENTO_PLUGIN=serial asks for the plugin without MPI", Other::kWithoutMpi};
  if (!binding::has(code, "H5get_libversion")) return std::nullopt;  // bind() says what that is
  if (!binding::has(code, "H5Pset_fapl_mpio"))
    return Misfit{
        "this HDF5 has no MPI, and should use the plugin without MPI (libh5bento_vol_serial.so)",
        Other::kWithoutMpi};
  if (binding::reaches(code, kOnlyInOpenMpi) != kForOpenMpi)
    return Misfit{
        kForOpenMpi ? "this HDF5 has another MPI than Open MPI" : "this HDF5 has Open MPI",
        Other::kWithMpi};
  return std::nullopt;
}

const void* plugin_class() {
  return &vol::connector_class();
}

}  // namespace bento::plugins
