// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What takes the place of vol/mpi/ in the serial plugin, which knows no MPI. Its HDF5 may have
/// some: a file with the mpio driver is refused by name.
#include "vol/mpi/mpi_access.hpp"

namespace bento::vol {

class MpiAccess {};

namespace {

tl::unexpected<Error> no_mpi() {
  return fail(Code::kUnsupported,
              "the file is opened with MPI (H5Pset_fapl_mpio), and this is h5bento's plugin for "
              "programs without MPI: HDF5_PLUGIN_PATH must name the folder of the one that was "
              "built with the program's MPI");
}

}  // namespace

// By what it does: an HDF5 without MPI has no number for it.
bool is_mpio(hid_t driver) {
  unsigned long flags = 0;
  return H5FDdriver_query(driver, &flags) >= 0 && (flags & H5FD_FEAT_HAS_MPI) != 0;
}

Result<std::shared_ptr<const MpiAccess>> mpi_access(hid_t fapl) {
  (void)fapl;
  return no_mpi();
}

Result<std::shared_ptr<Communicator>> mpi_communicator(const MpiAccess& access, double timeout_s,
                                                       const std::string& path) {
  (void)access;
  (void)timeout_s;
  (void)path;
  return no_mpi();
}

std::string hint_of(const MpiAccess& access, const std::string& key) {
  (void)access;
  (void)key;
  return {};
}

herr_t show_mpio(hid_t fapl, const MpiAccess& access, std::span<const UsedHint> used) {
  (void)fapl;
  (void)access;
  (void)used;
  return -1;
}

bool is_collective_transfer(hid_t dxpl) {
  (void)dxpl;
  return false;
}

void make_independent(hid_t dxpl) {
  (void)dxpl;
}

}  // namespace bento::vol
