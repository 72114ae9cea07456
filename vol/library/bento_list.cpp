// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/library/bento_list.hpp"

#include "hdf5/base/library_version.hpp"
#include "hdf5/base/relaxed_checks.hpp"
#include "vol/callbacks/callbacks.hpp"

namespace bento::vol {

Result<PlistHandle> bento_list(const std::string& config) {
  const hid_t connector = H5VLregister_connector(&connector_class(), H5P_DEFAULT);
  PlistHandle list(H5Pcreate(H5P_FILE_ACCESS));
  void* info = nullptr;
  const bool set = connector >= 0 &&
                   H5VLconnector_str_to_info(config.c_str(), connector, &info) >= 0 &&
                   H5Pset_vol(list.get(), connector, info) >= 0;
  if (info != nullptr) H5VLfree_connector_info(connector, info);
  if (connector >= 0) H5VLclose(connector);
  if (!set) return fail(Code::kInternal, "the bento connector cannot be registered");
  BENTO_TRY(relax_integrity_checks(list.get()));  // what these read is to be copied as a whole
  return list;
}

// As native views are made (hdf5/view/view_file.cpp).
Status allow_all_formats(hid_t fapl) {
  if (H5Pset_libver_bounds(fapl, H5F_LIBVER_V18, newest_format()) < 0)
    return fail(Code::kInternal, "the formats of a file cannot be set");
  return {};
}

}  // namespace bento::vol
