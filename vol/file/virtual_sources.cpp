// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/virtual_sources.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "hdf5/skeleton/driver.hpp"
#include "vol/file/container_open.hpp"
#include "vol/file/dataset_state.hpp"

namespace bento::vol {

namespace {

std::string source_name(hid_t dcpl, std::size_t mapping) {
  const ssize_t length = H5Pget_virtual_filename(dcpl, mapping, nullptr, 0);
  if (length <= 0) return {};
  std::string name(static_cast<std::size_t>(length) + 1, '\0');
  H5Pget_virtual_filename(dcpl, mapping, name.data(), name.size());
  name.pop_back();
  // A printf-style name stands for a series; its first file tells what the others are.
  if (const auto at = name.find("%b"); at != std::string::npos) name.replace(at, 2, "0");
  return name;
}

std::string name_of_file(const Object* dataset) {
  std::string name(4096, '\0');
  std::size_t length = 0;
  H5VL_file_get_args_t args{};
  args.op_type = H5VL_FILE_GET_NAME;
  args.args.get_name.type = H5I_DATASET;
  args.args.get_name.buf_size = name.size();
  args.args.get_name.buf = name.data();
  args.args.get_name.file_name_len = &length;
  if (H5VLfile_get(dataset->under, dataset->under_vol_id, &args, H5P_DATASET_XFER_DEFAULT,
                   nullptr) < 0)
    return {};
  name.resize(std::min(length, name.size()));
  return name;
}

/// Folder in front of source names: the access list's, which the environment overrides.
std::filesystem::path prefix_of(const Object* dataset) {
  if (const char* const set = std::getenv("HDF5_VDS_PREFIX")) return set;
  H5VL_dataset_get_args_t args{};
  args.op_type = H5VL_DATASET_GET_DAPL;
  if (H5VLdataset_get(dataset->under, dataset->under_vol_id, &args, H5P_DATASET_XFER_DEFAULT,
                      nullptr) < 0)
    return {};
  const PlistHandle dapl(args.args.get_dapl.dapl_id);
  std::string prefix(4096, '\0');
  const ssize_t length = H5Pget_virtual_prefix(dapl.get(), prefix.data(), prefix.size());
  prefix.resize(length > 0 ? std::min(static_cast<std::size_t>(length), prefix.size()) : 0);
  return prefix;
}

Error refused(const std::string& source) {
  return Error{
      Code::kUnsupported,
      fmt::format("a virtual dataset over '{}', which is a container, cannot be read or written in "
                  "this version; use the source itself, or make an ordinary file of it "
                  "with h5repack --dst-vol-name=native",
                  source),
      0};
}

/// Virtual datasets that have come to a container. Never destroyed: datasets may be read after
/// static destructors have run.
std::set<std::pair<unsigned long, TokenBytes>>& with_containers() {
  static auto* const instance = new std::set<std::pair<unsigned long, TokenBytes>>;
  return *instance;
}

}  // namespace

SourceWatch::SourceWatch() : before_(containers_reached()) {}

Status SourceWatch::check(const Object* dataset) const {
  if (containers_reached() == before_) return {};
  BENTO_ASSIGN(const ObjectIdentity identity, identity_of(dataset));
  with_containers().insert({identity.fileno, identity.token});
  if (dataset->dataset) dataset->dataset->sources_checked = false;
  return fail(refused("a file that one of its sources leads to"));
}

Status check_virtual_sources(const Object* dataset, bool in_container) {
  BENTO_ASSIGN(const PlistHandle dcpl, native_dcpl(dataset));
  if (H5Pget_layout(dcpl.get()) != H5D_VIRTUAL) return {};
  BENTO_ASSIGN(const ObjectIdentity identity, identity_of(dataset));
  if (with_containers().contains({identity.fileno, identity.token}))
    return fail(refused("a file that one of its sources leads to"));
  std::size_t mappings = 0;
  if (H5Pget_virtual_count(dcpl.get(), &mappings) < 0)
    return fail(Code::kInternal, "virtual mappings unreadable");
  const auto folder = std::filesystem::path(name_of_file(dataset)).parent_path();
  for (std::size_t i = 0; i < mappings; ++i) {
    const std::string name = source_name(dcpl.get(), i);
    const bool own = name == ".";
    const auto prefix = prefix_of(dataset);
    const bool container = own ? in_container
                               : is_container(name.c_str()) ||
                                     is_container((folder / name).c_str()) ||
                                     is_container((prefix / name).c_str()) ||
                                     is_container((folder / prefix / name).c_str());
    if (container) return fail(refused(own ? "its own file" : name));
  }
  return {};
}

}  // namespace bento::vol
