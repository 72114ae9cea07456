// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tests/fuzz/vol/walk_file.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "core/offline/recover.hpp"
#include "core/offline/survey.hpp"
#include "core/offline/verify_container.hpp"
#include "hdf5/base/handle.hpp"
#include "vol/library/bento_list.hpp"
#include "vol/library/edited_view.hpp"
#include "vol/library/objects.hpp"
#include "vol/library/steps.hpp"

namespace bento::fuzz {

namespace {

using namespace vol;

constexpr std::uint64_t kMostBytes = 4u << 20;
constexpr unsigned kMostRank = 32;

void read_with(hid_t dataset, hid_t type, hid_t memory, hid_t file, std::uint64_t elements,
               Seen& seen) {
  const std::size_t bytes = H5Tget_size(type);
  if (bytes == 0 || elements == 0 || elements > kMostBytes / bytes) return;
  std::vector<std::byte> buffer(static_cast<std::size_t>(elements) * bytes);
  if (H5Dread(dataset, type, memory, file, H5P_DEFAULT, buffer.data()) < 0) return;
  ++seen.reads;
  if (H5Tis_variable_str(type) > 0 || H5Tdetect_class(type, H5T_VLEN) > 0)
    H5Dvlen_reclaim(type, memory == H5S_ALL ? file : memory, H5P_DEFAULT, buffer.data());
}

/// Every other element from the second on, as many as fit.
void read_stripes(hid_t dataset, hid_t type, hid_t space, int rank, Seen& seen) {
  std::array<hsize_t, kMostRank> dims{};
  std::array<hsize_t, kMostRank> start{};
  std::array<hsize_t, kMostRank> stride{};
  std::array<hsize_t, kMostRank> count{};
  if (rank <= 0 || H5Sget_simple_extent_dims(space, dims.data(), nullptr) < 0) return;
  std::uint64_t elements = 1;
  for (int d = 0; d < rank; ++d) {
    const auto i = static_cast<std::size_t>(d);
    if (dims[i] == 0) return;
    start[i] = dims[i] > 1 ? 1 : 0;
    stride[i] = 2;
    count[i] = std::min<hsize_t>((dims[i] - start[i] + 1) / 2, rank < 4 ? 20 : 2);
    elements *= count[i];
  }
  const hsize_t flat = elements;
  const SpaceHandle memory(H5Screate_simple(1, &flat, nullptr));
  if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), stride.data(), count.data(),
                          nullptr) >= 0)
    read_with(dataset, type, memory.get(), space, elements, seen);
}

void read_chunks(hid_t dataset, hid_t space, Seen& seen) {
  hsize_t chunks = 0;
  if (H5Dget_num_chunks(dataset, space, &chunks) < 0) return;
  for (hsize_t i = 0; i < std::min<hsize_t>(chunks, 4); ++i) {
    std::array<hsize_t, kMostRank> offset{};
    unsigned mask = 0;
    haddr_t address = 0;
    hsize_t bytes = 0;
    if (H5Dget_chunk_info(dataset, space, i, offset.data(), &mask, &address, &bytes) < 0) continue;
    hsize_t again = 0;
    if (H5Dget_chunk_storage_size(dataset, offset.data(), &again) < 0 || again > kMostBytes)
      continue;
    std::vector<std::byte> stored(static_cast<std::size_t>(again) + 1);
    if (H5Dread_chunk(dataset, H5P_DEFAULT, offset.data(), &mask, stored.data()) >= 0) ++seen.reads;
  }
}

void read_dataset(hid_t dataset, Seen& seen) {
  ++seen.datasets;
  const SpaceHandle space(H5Dget_space(dataset));
  const TypeHandle stored(H5Dget_type(dataset));
  const TypeHandle native(H5Tget_native_type(stored.get(), H5T_DIR_DEFAULT));
  if (!space.valid() || !stored.valid() || !native.valid()) return;
  const int rank = H5Sget_simple_extent_ndims(space.get());
  const hssize_t elements = H5Sget_simple_extent_npoints(space.get());
  if (elements > 0)
    for (const hid_t type : {stored.get(), native.get()})
      read_with(dataset, type, H5S_ALL, H5S_ALL, static_cast<std::uint64_t>(elements), seen);
  read_stripes(dataset, native.get(), space.get(), rank, seen);
  const PlistHandle list(H5Dget_create_plist(dataset));
  H5D_space_status_t status{};
  (void)H5Dget_space_status(dataset, &status);
  (void)H5Dget_storage_size(dataset);
  if (H5Pget_layout(list.get()) == H5D_CHUNKED) read_chunks(dataset, H5S_ALL, seen);
}

herr_t read_attribute(hid_t object, const char* name, const H5A_info_t*, void* data) {
  auto& seen = *static_cast<Seen*>(data);
  const AttributeHandle attribute(H5Aopen(object, name, H5P_DEFAULT));
  if (!attribute.valid()) return 0;
  const TypeHandle type(H5Aget_type(attribute.get()));
  const SpaceHandle space(H5Aget_space(attribute.get()));
  const hssize_t elements = H5Sget_simple_extent_npoints(space.get());
  const std::size_t bytes = H5Tget_size(type.get());
  if (elements <= 0 || bytes == 0 || static_cast<std::uint64_t>(elements) > kMostBytes / bytes ||
      H5Tdetect_class(type.get(), H5T_VLEN) != 0 || H5Tis_variable_str(type.get()) != 0)
    return 0;
  std::vector<std::byte> buffer(static_cast<std::size_t>(elements) * bytes);
  if (H5Aread(attribute.get(), type.get(), buffer.data()) >= 0) ++seen.reads;
  return 0;
}

herr_t read_object(hid_t root, const char* name, const H5O_info2_t* info, void* data) {
  auto& seen = *static_cast<Seen*>(data);
  const ObjectHandle object(H5Oopen(root, name, H5P_DEFAULT));
  if (!object.valid()) return 0;
  hsize_t first = 0;
  (void)H5Aiterate2(object.get(), H5_INDEX_NAME, H5_ITER_NATIVE, &first, read_attribute, data);
  if (info->type == H5O_TYPE_DATASET) read_dataset(object.get(), seen);
  return 0;
}

}  // namespace

void walk(const char* name, hid_t access, Seen& seen) {
  const FileHandle file(H5Fopen(name, H5F_ACC_RDONLY, access));
  if (!file.valid()) return;
  ++seen.files;
  (void)H5Ovisit3(file.get(), H5_INDEX_NAME, H5_ITER_NATIVE, read_object, &seen,
                  H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS);
}

namespace {

/// What h5bento info, layout, ls and view ask.
void survey(const std::string& name) {
  auto found = Survey::open(name);
  if (!found) return;
  (void)found->space();
  (void)found->catalogue_in_use();
  (void)found->view_is_whole();
  (void)list_objects(name, {"/", true, true});
}

}  // namespace

void walk_container(const std::string& name, Seen& seen) {
  survey(name);
  for (const unsigned step : {0u, 1u, 2u, 7u, 13u}) {
    const auto list = bento_list(step == 0 ? std::string() : fmt::format("step={}", step));
    if (list) walk(name.c_str(), list->get(), seen);
    if (seen.files == 0) return;
  }
  const auto steps = list_steps(name);
  if (!steps) return;
  for (const auto* const dataset : {"/growing", "/plane", "/all", "/line"}) {
    const auto own = dataset_steps(name, dataset);
    if (!own) continue;
    if (!own->empty()) (void)open_dataset_step(name, dataset, own->front().relative);
    (void)find_records(name, dataset, Box{Dims{1}, Dims{3}}, Number(std::int64_t{3}),
                       Number(std::int64_t{9}));
    (void)find_records(name, dataset, Box{Dims{1, 1}, Dims{9, 9}}, Number(std::int64_t{3}),
                       Number(std::int64_t{900}));
  }
}

void work_on_container(const std::string& name) {
  VerifyOptions options;
  options.jobs = 2;
  (void)verify_container(name, options);
  if (const auto list = bento_list("view_maps=8")) {
    const FileHandle file(H5Fopen(name.c_str(), H5F_ACC_RDWR, list->get()));
    if (file.valid()) {
      const std::vector<int> values(8, 3);
      const hsize_t count = values.size();
      const SpaceHandle space(H5Screate_simple(1, &count, nullptr));
      const DatasetHandle fresh(H5Dcreate2(file.get(), "fresh", H5T_NATIVE_INT, space.get(),
                                           H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
      if (fresh.valid())
        (void)H5Dwrite(fresh.get(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
      (void)H5Fflush(file.get(), H5F_SCOPE_LOCAL);
      (void)H5Ldelete(file.get(), "plane", H5P_DEFAULT);
    }
  }
  (void)recover_container(name);
}

}  // namespace bento::fuzz
