// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "bench/scale/view_stage.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <hdf5.h>

#include "hdf5/view/view_builder.hpp"

namespace bento::scale {

namespace {

/// Ends the program: there is nothing to measure then.
hid_t made(hid_t id, const char* what) {
  if (id >= 0) return id;
  std::fprintf(stderr, "scale_sim: HDF5 does not make %s\n", what);
  std::exit(1);
}

/// How far all ranks' boxes reach.
std::vector<hsize_t> extent_of(const Scenario& scenario, std::uint64_t ranks) {
  std::vector<hsize_t> extent(scenario.irregular ? 2 : 1, 0);
  for (unsigned dataset = 0; dataset < scenario.datasets; ++dataset)
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
      const Box box = box_of(scenario, dataset, rank, ranks);
      for (unsigned d = 0; d < box.rank(); ++d)
        extent[d] = std::max<hsize_t>(extent[d], box.start[d] + box.count[d]);
    }
  return extent;
}

std::array<std::byte, 16> add_dataset(hid_t file, unsigned number,
                                      const std::vector<hsize_t>& extent) {
  const hid_t space = made(
      H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr), "a dataspace");
  const std::string name = fmt::format("d{}", number);
  const hid_t list = made(H5Pcreate(H5P_DATASET_CREATE), "a property list");
  H5Pset_alloc_time(list, H5D_ALLOC_TIME_LATE);
  const hid_t dataset =
      made(H5Dcreate2(file, name.c_str(), H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, list, H5P_DEFAULT),
           "a dataset");
  H5O_info2_t info{};
  made(H5Oget_info3(dataset, &info, H5O_INFO_BASIC), "a token");
  std::array<std::byte, 16> token{};
  static_assert(sizeof info.token == sizeof token);
  std::memcpy(token.data(), &info.token, sizeof token);
  H5Dclose(dataset);
  H5Pclose(list);
  H5Sclose(space);
  return token;
}

}  // namespace

bool has_view_stage() {
  return true;
}

ViewStage make_view_stage(const Scenario& scenario, std::uint64_t ranks) {
  ViewStage stage;
  const hid_t access = made(H5Pcreate(H5P_FILE_ACCESS), "a property list");
  H5Pset_fapl_core(access, 1u << 16, false);
  H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_LATEST);
  const hid_t file = made(H5Fcreate("skeleton", H5F_ACC_TRUNC, H5P_DEFAULT, access), "a file");
  const auto extent = extent_of(scenario, ranks);
  for (unsigned d = 0; d < scenario.datasets; ++d)
    stage.tokens.push_back(add_dataset(file, d, extent));
  H5Fflush(file, H5F_SCOPE_GLOBAL);
  const ssize_t bytes = H5Fget_file_image(file, nullptr, 0);
  stage.skeleton.resize(static_cast<std::size_t>(made(bytes, "an image")));
  made(H5Fget_file_image(file, stage.skeleton.data(), stage.skeleton.size()), "an image");
  H5Fclose(file);
  H5Pclose(access);
  stage.view = [](ViewJob& job) -> Result<NativeView> {
    auto built = vol::build_native_view({}, job);
    if (built)
      for (const auto& note : built->notes) std::fprintf(stderr, "note: %s\n", note.c_str());
    return built;
  };
  return stage;
}

}  // namespace bento::scale
