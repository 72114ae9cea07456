// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/mpi/mpi_access.hpp"

#include <algorithm>

#include "vol/mpi/mpi_comm.hpp"
#include "vol/mpi/mpi_constants.hpp"
#include "vol/mpi/mpi_info.hpp"

namespace bento::vol {

class MpiAccess {
 public:
  MpiAccess(MPI_Comm comm, MPI_Info info, hid_t fapl) : comm_(comm), info_(info) {
    H5Pget_all_coll_metadata_ops(fapl, &collective_reads_);
    H5Pget_coll_metadata_write(fapl, &collective_writes_);
  }
  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] MPI_Info info() const { return info_.get(); }
  /// Metadata goes no other way for these, but the program may ask what it has set.
  [[nodiscard]] herr_t show_metadata_modes(hid_t fapl) const {
    const herr_t reads = H5Pset_all_coll_metadata_ops(fapl, collective_reads_);
    return reads < 0 ? reads : H5Pset_coll_metadata_write(fapl, collective_writes_);
  }

 private:
  MPI_Comm comm_;  ///< owned by the Communicator made from it
  OwnedInfo info_;
  hbool_t collective_reads_ = false;
  hbool_t collective_writes_ = false;
};

bool is_mpio(hid_t driver) {
  return driver == H5FD_MPIO;
}

Result<std::shared_ptr<const MpiAccess>> mpi_access(hid_t fapl) {
  MPI_Comm comm = mpi_constants().comm_null;
  MPI_Info info = mpi_constants().info_null;
  if (H5Pget_fapl_mpio(fapl, &comm, &info) < 0)
    return fail(Code::kInvalidArgument,
                "the MPI communicator of the file access list cannot be duplicated");
  return std::make_shared<const MpiAccess>(comm, info, fapl);
}

Result<std::shared_ptr<Communicator>> mpi_communicator(const MpiAccess& access, double timeout_s,
                                                       const std::string& path) {
  BENTO_ASSIGN(auto comm, MpiCommunicator::take(access.comm(), timeout_s, path));
  return std::shared_ptr<Communicator>(std::move(comm));
}

std::string hint_of(const MpiAccess& access, const std::string& key) {
  if (access.info() == mpi_constants().info_null) return {};
  std::string value(MPI_MAX_INFO_VAL, '\0');
  int found = 0;
  // The length does not count the zero behind it.
  if (MPI_Info_get(access.info(), key.c_str(), MPI_MAX_INFO_VAL - 1, value.data(), &found) !=
          MPI_SUCCESS ||
      found == 0)
    return {};
  value.resize(value.find('\0'));
  return value;
}

herr_t show_mpio(hid_t fapl, const MpiAccess& access, std::span<const UsedHint> used) {
  const bool none = access.info() == mpi_constants().info_null;
  const auto is_so = [&](const UsedHint& hint) { return hint.value == hint_of(access, hint.key); };
  if (std::ranges::all_of(used, is_so))
    return H5Pset_fapl_mpio(fapl, access.comm(), access.info()) < 0
               ? -1
               : access.show_metadata_modes(fapl);
  MPI_Info made = mpi_constants().info_null;
  if ((none ? MPI_Info_create(&made) : MPI_Info_dup(access.info(), &made)) != MPI_SUCCESS)
    return -1;
  const OwnedInfo shown(made);
  for (const auto& hint : used) {
    if (!hint.value.empty())
      MPI_Info_set(made, hint.key.c_str(), hint.value.c_str());
    else if (!is_so(hint))
      MPI_Info_delete(made, hint.key.c_str());
  }
  if (H5Pset_fapl_mpio(fapl, access.comm(), made) < 0) return -1;
  return access.show_metadata_modes(fapl);
}

bool is_collective_transfer(hid_t dxpl) {
  H5FD_mpio_xfer_t mode = H5FD_MPIO_INDEPENDENT;
  return dxpl != H5P_DEFAULT && dxpl != H5P_DATASET_XFER_DEFAULT &&
         H5Pget_dxpl_mpio(dxpl, &mode) >= 0 && mode == H5FD_MPIO_COLLECTIVE;
}

void make_independent(hid_t dxpl) {
  H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_INDEPENDENT);
}

}  // namespace bento::vol
