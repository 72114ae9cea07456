// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/data/variable_scratch.hpp"

#include "hdf5/base/memory_file.hpp"

namespace bento::vol {

namespace {

constexpr std::size_t kIncrement = 1u << 20;

}  // namespace

Result<VariableScratch> VariableScratch::make(hid_t type, std::size_t count) {
  VariableScratch made;
  BENTO_ASSIGN(made.file_, make_memory_file("conversions", kIncrement));
  const hsize_t dims = count;
  const SpaceHandle space(H5Screate_simple(1, &dims, nullptr));
  made.dataset_ =
      DatasetHandle(H5Dcreate_anon(made.file_.get(), type, space.get(), H5P_DEFAULT, H5P_DEFAULT));
  if (!made.dataset_.valid()) return fail(Code::kInternal, "no dataset for conversions");
  return made;
}

Status VariableScratch::write(hid_t type, const void* elements) {
  if (H5Dwrite(dataset_.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, elements) < 0)
    return fail(Code::kInvalidArgument,
                "the memory type cannot be converted to the dataset's type");
  return {};
}

Status VariableScratch::read(hid_t type, void* elements, hid_t dxpl) {
  if (H5Dread(dataset_.get(), type, H5S_ALL, H5S_ALL, dxpl, elements) < 0)
    return fail(Code::kInvalidArgument,
                "the dataset's type cannot be converted to the memory type");
  return {};
}

Result<PlistHandle> values_list(hid_t dxpl) {
  PlistHandle list(H5Pcreate(H5P_DATASET_XFER));
  if (!list.valid()) return fail(Code::kInternal, "no transfer list");
  if (dxpl == H5P_DEFAULT) return list;
  H5MM_allocate_t allocate = nullptr;
  H5MM_free_t free = nullptr;
  void* allocate_info = nullptr;
  void* free_info = nullptr;
  H5T_conv_except_func_t except = nullptr;
  void* except_data = nullptr;
  if (H5Pget_vlen_mem_manager(dxpl, &allocate, &allocate_info, &free, &free_info) < 0 ||
      H5Pset_vlen_mem_manager(list.get(), allocate, allocate_info, free, free_info) < 0 ||
      H5Pget_type_conv_cb(dxpl, &except, &except_data) < 0 ||
      (except != nullptr && H5Pset_type_conv_cb(list.get(), except, except_data) < 0))
    return fail(Code::kInternal, "the transfer list is unreadable");
  return list;
}

}  // namespace bento::vol
