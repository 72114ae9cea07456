// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/native_dataset.hpp"

#include <fmt/format.h>

#include "vol/file/object.hpp"

namespace bento::vol {

namespace {

Result<H5VL_dataset_get_args_t> ask(const Object* dataset, H5VL_dataset_get_t question,
                                    const char* what) {
  H5VL_dataset_get_args_t args{};
  args.op_type = question;
  if (H5VLdataset_get(dataset->under, dataset->under_vol_id, &args, H5P_DATASET_XFER_DEFAULT,
                      nullptr) < 0)
    return fail(Code::kInternal, fmt::format("{} unreadable", what));
  return args;
}

}  // namespace

Result<PlistHandle> native_dcpl(const Object* dataset) {
  BENTO_ASSIGN(const auto said, ask(dataset, H5VL_DATASET_GET_DCPL, "dataset creation list"));
  return PlistHandle(said.args.get_dcpl.dcpl_id);
}

Result<PlistHandle> native_dapl(const Object* dataset) {
  BENTO_ASSIGN(const auto said, ask(dataset, H5VL_DATASET_GET_DAPL, "dataset access list"));
  return PlistHandle(said.args.get_dapl.dapl_id);
}

Result<SpaceHandle> native_space(const Object* dataset) {
  BENTO_ASSIGN(const auto said, ask(dataset, H5VL_DATASET_GET_SPACE, "dataspace"));
  return SpaceHandle(said.args.get_space.space_id);
}

Result<TypeHandle> native_type(const Object* dataset) {
  BENTO_ASSIGN(const auto said, ask(dataset, H5VL_DATASET_GET_TYPE, "datatype"));
  return TypeHandle(said.args.get_type.type_id);
}

}  // namespace bento::vol
