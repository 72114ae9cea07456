// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// File access lists: what the user's says, what the skeleton is opened with, and what an
/// application that asks is shown.
#pragma once

#include <memory>
#include <string>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "core/comm/communicator.hpp"
#include "core/config/config.hpp"
#include "hdf5/base/handle.hpp"
#include "vol/file/file_context.hpp"
#include "vol/file/object.hpp"

namespace bento::vol {

/// Does the connector take files opened with this list? Not for drivers other than sec2, stdio,
/// log, direct and mpio, nor with an initial file image: those pass straight through.
bool serves_driver(hid_t fapl);

/// What the list's connector string and the environment ask for. Errors: kInvalidArgument,
/// kUnsupported.
Result<RequestedConfig> config_of(hid_t fapl);

/// What HDF5 refuses of a file that so many ranks open with mpio, and a container would not need
/// to. Errors: kUnsupported, in HDF5's words.
Status check_parallel_settings(hid_t fapl, int ranks);

/// Reads driver and communicator; the communicator is our own duplicate. Collective for mpio.
Result<UserAccess> user_access(hid_t fapl);
/// The communicator to speak over of the file `path`, which errors name: MPI for mpio, a group of
/// one otherwise. Collective for mpio.
Result<std::shared_ptr<Communicator>> make_communicator(const UserAccess& access, double timeout_s,
                                                        const std::string& path);

/// A copy of the user's list with the native connector: for files that pass through.
PlistHandle native_fapl(hid_t fapl);
/// The list for a skeleton that is opened under `name`: the user's metadata settings, the native
/// connector, the skeleton driver.
Result<PlistHandle> skeleton_fapl(hid_t fapl, const UserAccess& access,
                                  const std::shared_ptr<SkeletonHost>& host,
                                  const std::string& name);
/// Turns a skeleton's access list into what the user would see natively: driver, communicator, and
/// of the info object's hints those that are in use; the page buffer. `object`: the file's handle.
Status show_user_access(hid_t fapl, const Object* object, FileContext& file);

}  // namespace bento::vol
