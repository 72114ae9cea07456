// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/destination.hpp"

#include <string>
#include <utility>

#include "hdf5/base/handle.hpp"
#include "hdf5/base/native_connector.hpp"
#include "hdf5/base/quiet_errors.hpp"
#include "hdf5/skeleton/open_files.hpp"

namespace bento::vol {

bool ask_info(const Object* object, const H5VL_loc_params_t& place, H5O_info2_t& info) {
  H5VL_object_get_args_t args{};
  args.op_type = H5VL_OBJECT_GET_INFO;
  args.args.get_info.oinfo = &info;
  args.args.get_info.fields = H5O_INFO_BASIC;
  return H5VLobject_get(object->under, &place, object->under_vol_id, &args,
                        H5P_DATASET_XFER_DEFAULT, nullptr) >= 0;
}

std::optional<H5O_info2_t> info_at(const Object* object, const H5VL_loc_params_t& place) {
  H5O_info2_t info{};
  const QuietErrors quiet;
  const ErrorStackKeeper keep;
  if (!ask_info(object, place, info)) return std::nullopt;
  return info;
}

// Groups on the way may be missing, and are then created in the file that the path has come to.
Destination destination_of(const Object* where, const H5VL_loc_params_t& loc, const char* name) {
  std::string path = name != nullptr ? name : "";
  for (auto slash = path.rfind('/'); slash != std::string::npos && any_armed_host();
       slash = path.rfind('/')) {
    const QuietErrors quiet;
    const ErrorStackKeeper keep;
    auto group = std::make_unique<OpenedObject>(where, loc.obj_type,
                                                slash == 0 ? "/" : path.substr(0, slash));
    if (group->get() != nullptr) {
      auto container = context_of(group->get());
      return {std::move(container), std::move(group)};
    }
    path.resize(slash);
  }
  return {context_of(where), nullptr};
}

}  // namespace bento::vol
