// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// All that the connector asks of MPI and of HDF5's mpio driver. Two sources have these functions:
/// mpi_access.cpp, and vol/no_mpi/ for the plugin that must load where there is no MPI. Nothing
/// else differs between the two.
#pragma once

#include <memory>
#include <span>
#include <string>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/comm/communicator.hpp"

namespace bento::vol {

/// Communicator and info object of a file access list; our own duplicates.
class MpiAccess;

/// Is this driver id that of mpio?
bool is_mpio(hid_t driver);
/// What an access list with mpio says. Collective over its communicator. Errors: kInvalidArgument.
Result<std::shared_ptr<const MpiAccess>> mpi_access(hid_t fapl);
/// The communicator to speak over of the file `path`. Takes over the one of `access`, so it is
/// asked for once. Collective. Errors: kPeer (MPI is not running).
Result<std::shared_ptr<Communicator>> mpi_communicator(const MpiAccess& access, double timeout_s,
                                                       const std::string& path);
/// What the info object says under this key; empty if nothing.
std::string hint_of(const MpiAccess& access, const std::string& key);
/// A hint, and what is in use of it: empty if it is not.
struct UsedHint {
  std::string key;
  std::string value;
};
/// Gives an access list the mpio driver with what `access` has, but for hints that are used as it
/// says here. Negative if HDF5 or MPI refuses.
herr_t show_mpio(hid_t fapl, const MpiAccess& access, std::span<const UsedHint> used);

/// Does this transfer list ask for a collective transfer?
bool is_collective_transfer(hid_t dxpl);
/// Makes a transfer list one for independent transfers.
void make_independent(hid_t dxpl);

}  // namespace bento::vol
