// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/reserved_name.hpp"

#include <array>
#include <string_view>

#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/native_connector.hpp"
#include "hdf5/view/source_files.hpp"

namespace bento::vol {

namespace {

/// First component of a path, behind any "/" and "./" in front of it.
std::string_view first_component(std::string_view path) {
  for (;;) {
    if (path.starts_with('/'))
      path.remove_prefix(1);
    else if (path.starts_with("./"))
      path.remove_prefix(2);
    else
      return path.substr(0, path.find('/'));
  }
}

bool is_root_group(const Object* where) {
  if (where->type == H5I_FILE) return true;
  std::array<char, 2> name{};
  std::size_t length = 0;
  H5VL_object_get_args_t args{};
  args.op_type = H5VL_OBJECT_GET_NAME;
  args.args.get_name.buf = name.data();
  args.args.get_name.buf_size = name.size();
  args.args.get_name.name_len = &length;
  const auto here = by_self(where->type);
  return H5VLobject_get(where->under, &here, where->under_vol_id, &args, H5P_DATASET_XFER_DEFAULT,
                        nullptr) >= 0 &&
         length == 1 && name[0] == '/';
}

}  // namespace

bool refuses_reserved_name(const Object* where, const char* name) noexcept {
  if (where == nullptr || name == nullptr || first_component(name) != kViewGroup) return false;
  try {
    if (context_of(where) == nullptr || (name[0] != '/' && !is_root_group(where))) return false;
    push_error("create", Error{Code::kPermission,
                               "the name /.h5bento belongs to the native view of the container: "
                               "choose another one",
                               0});
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace bento::vol
