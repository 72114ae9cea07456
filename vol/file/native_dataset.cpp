// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/native_dataset.hpp"

#include <fmt/format.h>

#include "hdf5/base/quiet_errors.hpp"
#include "hdf5/base/types.hpp"
#include "vol/file/dataset_state.hpp"
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

/// The library converts the fill value for the creation list, and for elements of variable length
/// it asks the file for which it last read or wrote the dataset. Where that was through another
/// H5Fopen of the same file, closed since, it asks memory that was given back (HDF5 1.14.5). To
/// read nothing makes it this file again.
Status renew_variable_type(const Object* dataset) {
  TypeHandle asked;
  hid_t type = H5I_INVALID_HID;
  if (dataset->dataset && dataset->dataset->type) {
    type = dataset->dataset->type->id();
  } else {
    BENTO_ASSIGN(asked, native_type(dataset));
    type = asked.get();
  }
  if (!has_variable_length(type)) return {};
  BENTO_ASSIGN(const SpaceHandle none, native_space(dataset));
  H5Sselect_none(none.get());
  void* under = dataset->under;
  hid_t space = none.get();
  std::byte nowhere{};
  void* data = &nowhere;
  const QuietErrors quiet;  // whoever reads more than nothing hears of it
  H5VLdataset_read(1, &under, dataset->under_vol_id, &type, &space, &space,
                   H5P_DATASET_XFER_DEFAULT, &data, nullptr);
  return {};
}

}  // namespace

Result<PlistHandle> native_dcpl(const Object* dataset) {
  BENTO_TRY(renew_variable_type(dataset));
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
