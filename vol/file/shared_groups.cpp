// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/shared_groups.hpp"

#include "hdf5/base/handle.hpp"
#include "hdf5/base/quiet_errors.hpp"
#include "vol/file/file_context.hpp"

namespace bento::vol {

void note_shared_group(const Object* object, const H5VL_loc_params_t& place, unsigned links) {
  const auto file = context_of(object);
  if (!file || !file->writable()) return;
  const QuietErrors quiet;
  const ErrorStackKeeper keep;
  H5O_info2_t info{};
  H5VL_object_get_args_t args{};
  args.op_type = H5VL_OBJECT_GET_INFO;
  args.args.get_info.oinfo = &info;
  args.args.get_info.fields = H5O_INFO_BASIC;
  const bool known = H5VLobject_get(object->under, &place, object->under_vol_id, &args,
                                    H5P_DATASET_XFER_DEFAULT, nullptr) >= 0;
  if (known && info.type == H5O_TYPE_GROUP && info.rc >= links)
    file->container().note_counted_references();
}

}  // namespace bento::vol
