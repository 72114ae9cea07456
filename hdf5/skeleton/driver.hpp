// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The in-memory file driver under every skeleton. It serves the native library from a PagedImage,
/// finalises the container when the native file is closed, and opens what the native library
/// reaches by itself (external links, virtual sources): containers through a hook, ordinary files
/// through sec2.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <hdf5.h>

#include "hdf5/skeleton/host.hpp"

namespace bento::vol {

/// Registers the driver with the library (idempotent) and returns its id, negative on failure.
hid_t skeleton_driver();
/// Forgets the id; called when the connector terminates. Makes no HDF5 call.
void skeleton_driver_forget();
/// Sets the hook for containers reached by name from another container.
void set_foreign_opener(ForeignOpener opener);

/// Writes to ordinary files behind links that were dropped in this process, because other ranks
/// have the file open beside it.
struct RefusedWrites {
  std::uint64_t count = 0;
  std::string last;  ///< why
};
const RefusedWrites& refused_writes();
/// Is the open native file with this file number an ordinary one behind a link of a parallel
/// program? Then the change that the program is about to make is refused: kPermission, and the next
/// flush or close of the container fails, too.
Status refuse_plain_change(unsigned long fileno);
/// How often the native library has opened a container by itself: for a link, or as the source of a
/// virtual dataset.
std::uint64_t containers_reached();
/// Is any ordinary file open behind a link?
bool any_plain_file();

/// Makes `fapl` open `host`'s skeleton under the name `name`; any other name that is opened with it
/// is a foreign file. The list keeps a reference to the host.
herr_t set_fapl_skeleton(hid_t fapl, const std::shared_ptr<SkeletonHost>& host,
                         const std::string& name);
inline herr_t set_fapl_skeleton(hid_t fapl, const std::shared_ptr<SkeletonHost>& host) {
  return set_fapl_skeleton(fapl, host, host->name());
}

/// The host has another image now: files that show it may be read up to its end. What the library
/// has cached of the old one it must forget by itself (H5Drefresh).
void skeleton_changed(const SkeletonHost& host);

/// The host of the open native file with this file number (H5VL_FILE_GET_FILENO), null if it is no
/// skeleton.
std::shared_ptr<SkeletonHost> host_of_fileno(unsigned long fileno);
/// An armed host by device, inode and step, null if none is open in this process.
std::shared_ptr<SkeletonHost> host_of_identity(const FileIdentity& identity);
/// All armed hosts, each once.
std::vector<std::shared_ptr<SkeletonHost>> armed_hosts();

}  // namespace bento::vol
