// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The identifier of this connector itself, for files that it opens on its own account.
#pragma once

#include <hdf5.h>

#include "hdf5/base/handle.hpp"

namespace bento::vol {

using ConnectorHandle = Handle<&H5VLclose>;

/// To be called with each access list that a file is opened or created with: the library finds a
/// connector by its value only while the application holds an identifier of it.
void remember_connector(hid_t fapl, H5VL_class_value_t value);
/// Valid while a file of the connector is open.
ConnectorHandle own_connector();

}  // namespace bento::vol
