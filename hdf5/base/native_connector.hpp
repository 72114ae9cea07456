// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The connector that stands below ours: its id, and the arguments that most of its calls want.
#pragma once

#include <hdf5.h>

namespace bento::vol {

/// The id of the native connector (H5VL_NATIVE), valid while our connector is registered. Negative
/// if the library has none.
hid_t native_connector();
/// Forgets what native_connector() found; called when our connector terminates. Makes no HDF5 call.
void native_connector_forget() noexcept;

/// "This object itself", for calls that take a place.
inline H5VL_loc_params_t by_self(H5I_type_t type) {
  H5VL_loc_params_t place{};
  place.type = H5VL_OBJECT_BY_SELF;
  place.obj_type = type;
  return place;
}

/// "What `name` leads to from here"; `name` must live as long as the place is used.
inline H5VL_loc_params_t by_name(H5I_type_t type, const char* name) {
  H5VL_loc_params_t place{};
  place.type = H5VL_OBJECT_BY_NAME;
  place.obj_type = type;
  place.loc_data.loc_by_name.name = name;
  place.loc_data.loc_by_name.lapl_id = H5P_LINK_ACCESS_DEFAULT;
  return place;
}

/// "The object of this token, in the file of this place"; `token` must live as long as the place is
/// used.
inline H5VL_loc_params_t by_token(H5I_type_t type, H5O_token_t& token) {
  H5VL_loc_params_t place{};
  place.type = H5VL_OBJECT_BY_TOKEN;
  place.obj_type = type;
  place.loc_data.loc_by_token.token = &token;
  return place;
}

}  // namespace bento::vol
