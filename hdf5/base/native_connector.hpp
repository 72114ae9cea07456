// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The id of the connector that stands below ours.
#pragma once

#include <hdf5.h>

namespace bento::vol {

/// The id of the native connector (H5VL_NATIVE), valid while our connector is registered. Negative
/// if the library has none.
hid_t native_connector();
/// Forgets what native_connector() found; called when our connector terminates. Makes no HDF5 call.
void native_connector_forget() noexcept;

}  // namespace bento::vol
