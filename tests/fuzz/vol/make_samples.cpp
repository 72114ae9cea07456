// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <cstdio>
#include <numeric>
#include <stdexcept>

#include "hdf5/base/handle.hpp"
#include "tests/fuzz/vol/sample.hpp"
#include "vol/library/bento_list.hpp"

namespace bento::fuzz {

namespace {

using namespace vol;

void need(bool done, const char* what) {
  if (!done) throw std::runtime_error(std::string("fuzz sample: ") + what);
}

FileHandle create(const std::string& name, const std::string& config) {
  const auto list = bento_list(config);
  need(list.has_value(), "no access list");
  FileHandle file(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, list->get()));
  need(file.valid(), "no file");
  return file;
}

/// `chunk` empty: contiguous. `filters`: 1 shuffle, 2 deflate, 4 fletcher32.
DatasetHandle make(hid_t where, const char* name, hid_t type, std::vector<hsize_t> dims,
                   std::vector<hsize_t> chunk = {}, unsigned filters = 0, bool unlimited = false) {
  std::vector<hsize_t> most = dims;
  if (unlimited) most[0] = H5S_UNLIMITED;
  const SpaceHandle space(
      dims.empty() ? H5Screate(H5S_SCALAR)
                   : H5Screate_simple(static_cast<int>(dims.size()), dims.data(), most.data()));
  const PlistHandle list(H5Pcreate(H5P_DATASET_CREATE));
  if (!chunk.empty()) H5Pset_chunk(list.get(), static_cast<int>(chunk.size()), chunk.data());
  if ((filters & 1u) != 0) H5Pset_shuffle(list.get());
  if ((filters & 2u) != 0) H5Pset_deflate(list.get(), 6);
  if ((filters & 4u) != 0) H5Pset_fletcher32(list.get());
  DatasetHandle made(
      H5Dcreate2(where, name, type, space.get(), H5P_DEFAULT, list.get(), H5P_DEFAULT));
  need(made.valid(), name);
  return made;
}

void write_part(const DatasetHandle& dataset, std::vector<hsize_t> start,
                std::vector<hsize_t> count, int first) {
  const SpaceHandle file(H5Dget_space(dataset.get()));
  const SpaceHandle memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr));
  H5Sselect_hyperslab(file.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
  std::vector<int> values(static_cast<std::size_t>(H5Sget_select_npoints(memory.get())));
  std::iota(values.begin(), values.end(), first);
  need(H5Dwrite(dataset.get(), H5T_NATIVE_INT, memory.get(), file.get(), H5P_DEFAULT,
                values.data()) >= 0,
       "write");
}

void flush(const FileHandle& file) {
  need(H5Fflush(file.get(), H5F_SCOPE_LOCAL) >= 0, "flush");
}

void attribute(hid_t object, const char* name) {
  const hsize_t count = 3;
  const std::vector<int> values{1, 2, 3};
  const SpaceHandle space(H5Screate_simple(1, &count, nullptr));
  const AttributeHandle made(
      H5Acreate2(object, name, H5T_NATIVE_INT, space.get(), H5P_DEFAULT, H5P_DEFAULT));
  need(made.valid() && H5Awrite(made.get(), H5T_NATIVE_INT, values.data()) >= 0, name);
}

void plain(const std::string& name) {
  const FileHandle file = create(name, "chunk=16K");
  attribute(file.get(), "about");
  const GroupHandle group(H5Gcreate2(file.get(), "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  attribute(group.get(), "about");
  const auto line = make(file.get(), "line", H5T_NATIVE_INT, {40});
  attribute(line.get(), "about");
  write_part(line, {0}, {40}, 1);
  write_part(make(group.get(), "plane", H5T_STD_I32BE, {30, 20}), {3, 4}, {20, 10}, 100);
  write_part(make(group.get(), "space", H5T_NATIVE_SHORT, {4, 5, 6}, {2, 2, 2}), {0, 0, 0},
             {3, 5, 6}, 7);
  const auto scalar = make(file.get(), "scalar", H5T_NATIVE_INT, {});
  const int one = 1;
  need(H5Dwrite(scalar.get(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &one) >= 0, "scalar");
  const TypeHandle pair(H5Tcreate(H5T_COMPOUND, 12));
  H5Tinsert(pair.get(), "a", 0, H5T_NATIVE_INT);
  H5Tinsert(pair.get(), "b", 4, H5T_NATIVE_DOUBLE);
  const auto pairs = make(file.get(), "pairs", pair.get(), {10});
  const std::vector<std::byte> some(120, std::byte{1});
  need(H5Dwrite(pairs.get(), pair.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, some.data()) >= 0, "pairs");
}

void steps(const std::string& name) {
  const FileHandle file = create(name, "chunk=16K;keep=all;minmax=on;view=off");
  const auto growing = make(file.get(), "growing", H5T_NATIVE_INT, {1}, {8}, 0, true);
  const auto plane = make(file.get(), "plane", H5T_NATIVE_INT, {20, 20});
  for (int step = 0; step < 20; ++step) {
    const hsize_t extent = step == 12 ? 5 : 4 * static_cast<hsize_t>(step) + 4;
    need(H5Dset_extent(growing.get(), &extent) >= 0, "extent");
    write_part(growing, {extent - 3}, {3}, step);
    if (step % 3 == 0) write_part(plane, {static_cast<hsize_t>(step) / 2, 2}, {4, 9}, 50 * step);
    flush(file);
  }
}

void filtered(const std::string& name, const std::string& config) {
  const FileHandle file = create(name, config);
  const auto all = make(file.get(), "all", H5T_NATIVE_INT, {64, 64}, {32, 32}, 7);
  write_part(all, {0, 0}, {64, 64}, 5);
  write_part(make(file.get(), "deflate", H5T_NATIVE_INT, {4096}, {1024}, 2, true), {0}, {3000}, 9);
  write_part(make(file.get(), "sum", H5T_NATIVE_INT, {70, 40}, {32, 40}, 4), {0, 0}, {70, 40}, 2);
  flush(file);
  write_part(all, {10, 10}, {30, 30}, 1000);
}

/// More records than one page of the index takes, at places that make no run.
void irregular(const std::string& name) {
  const FileHandle file = create(name, "chunk=64K;view=off");
  const auto plane = make(file.get(), "plane", H5T_NATIVE_INT, {3000, 50});
  unsigned at = 1;
  for (int i = 0; i < 1200; ++i) {
    at = at * 1103515245u + 12345u;
    const hsize_t row = at / 65536u % 2990u;
    write_part(plane, {row, at / 7u % 40u}, {1 + static_cast<hsize_t>(i % 3), 1 + at / 512u % 9u},
               i);
  }
}

std::vector<Sample> make_all() {
  plain(in_folder("plain"));
  steps(in_folder("steps"));
  filtered(in_folder("filtered"), "chunk=64K");
  filtered(in_folder("md5"), "chunk=64K;checksum=md5;keep=3");
  irregular(in_folder("irregular"));
  std::vector<Sample> all;
  for (const auto* const name : {"plain", "steps", "filtered", "md5", "irregular"}) {
    all.push_back(take_apart(in_folder(name)));
    std::remove(in_folder(name).c_str());
  }
  return all;
}

}  // namespace

const std::vector<Sample>& samples() {
  static const std::vector<Sample> all = make_all();
  return all;
}

}  // namespace bento::fuzz
