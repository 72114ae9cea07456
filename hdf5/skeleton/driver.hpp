// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The in-memory file driver under every skeleton. It serves the native library from a PagedImage,
/// finalises the container when the native file is closed, and opens what the native library
/// reaches by itself (external links, virtual sources): containers through a hook, ordinary files
/// through sec2.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <hdf5.h>

#include "hdf5/skeleton/host.hpp"

namespace bento::vol {

/// Registers the driver with the library (idempotent) and returns its id, negative on failure.
hid_t skeleton_driver();
/// Forgets the id; called when the connector terminates. Makes no HDF5 call.
void skeleton_driver_forget();
/// Sets the hook for containers reached by name from another container.
void set_foreign_opener(ForeignOpener opener);

/// Makes `fapl` open `host`'s skeleton under the name `name`; any other name that is opened with it
/// is a foreign file. The list keeps a reference to the host.
herr_t set_fapl_skeleton(hid_t fapl, const std::shared_ptr<SkeletonHost>& host,
                         const std::string& name);
inline herr_t set_fapl_skeleton(hid_t fapl, const std::shared_ptr<SkeletonHost>& host) {
  return set_fapl_skeleton(fapl, host, host->name());
}

}  // namespace bento::vol
