// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Short calls for the tests of the skeleton driver.
#pragma once

#include <array>
#include <memory>
#include <string>

#include <hdf5.h>

#include "hdf5/base/handle.hpp"
#include "hdf5/skeleton/driver.hpp"
#include "tests/vol/fake_host.hpp"

namespace bento::vol::test {

using FileHandle = Handle<&H5Fclose>;

/// No error stack on the terminal while a failure is expected.
class Quiet {
 public:
  Quiet() {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~Quiet() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

/// All texts of the current error stack, one a line.
inline std::string error_texts() {
  std::string texts;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned, const H5E_error2_t* error, void* out) -> herr_t {
        *static_cast<std::string*>(out) +=
            std::string(error->desc != nullptr ? error->desc : "") + "\n";
        return 0;
      },
      &texts);
  return texts;
}

inline PlistHandle skeleton_list(const std::shared_ptr<SkeletonHost>& host) {
  PlistHandle list(H5Pcreate(H5P_FILE_ACCESS));
  set_fapl_skeleton(list.get(), host);
  return list;
}

inline FileHandle create_file(const std::shared_ptr<SkeletonHost>& host) {
  return FileHandle(
      H5Fcreate(host->name().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, skeleton_list(host).get()));
}

/// Leaves the error stack of a failed open in place.
inline FileHandle open_file(const std::shared_ptr<SkeletonHost>& host, unsigned flags,
                            const char* name = nullptr) {
  PlistHandle list = skeleton_list(host);
  FileHandle file(H5Fopen(name != nullptr ? name : host->name().c_str(), flags, list.get()));
  const ErrorStackKeeper keep;
  list.reset();
  return file;
}

inline unsigned long file_number(hid_t object, const char* path = ".") {
  H5O_info2_t info{};
  return H5Oget_info_by_name3(object, path, &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0 ? 0
                                                                                    : info.fileno;
}

inline constexpr hsize_t kElements = 1000;

/// A group with an attribute and a dataset whose values depend on `seed`.
inline void fill_file(hid_t file, int seed, const std::string& group = "group") {
  const Handle<&H5Gclose> parent(
      H5Gcreate2(file, group.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  const SpaceHandle scalar(H5Screate(H5S_SCALAR));
  const Handle<&H5Aclose> attribute(
      H5Acreate2(parent.get(), "seed", H5T_NATIVE_INT, scalar.get(), H5P_DEFAULT, H5P_DEFAULT));
  H5Awrite(attribute.get(), H5T_NATIVE_INT, &seed);
  const SpaceHandle space(H5Screate_simple(1, &kElements, nullptr));
  const Handle<&H5Dclose> dataset(H5Dcreate2(parent.get(), "data", H5T_NATIVE_INT, space.get(),
                                             H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  std::array<int, kElements> values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i) * (seed + 1);
  H5Dwrite(dataset.get(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
}

inline bool is_filled(hid_t file, int seed, const std::string& group = "group") {
  const Handle<&H5Gclose> parent(H5Gopen2(file, group.c_str(), H5P_DEFAULT));
  if (!parent.valid()) return false;
  const Handle<&H5Aclose> attribute(H5Aopen(parent.get(), "seed", H5P_DEFAULT));
  int stored = -1;
  if (H5Aread(attribute.get(), H5T_NATIVE_INT, &stored) < 0 || stored != seed) return false;
  const Handle<&H5Dclose> dataset(H5Dopen2(parent.get(), "data", H5P_DEFAULT));
  std::array<int, kElements> values{};
  if (H5Dread(dataset.get(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
    return false;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] != static_cast<int>(i) * (seed + 1)) return false;
  return true;
}

}  // namespace bento::vol::test
