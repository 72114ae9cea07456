// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/data_transform.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include "hdf5/base/handle.hpp"
#include "hdf5/base/library_text.hpp"
#include "hdf5/base/memory_file.hpp"
#include "hdf5/base/quiet_errors.hpp"

namespace bento::vol {

namespace {

constexpr std::size_t kFileIncrement = 1u << 20;
constexpr hsize_t kElementsAtOnce = 1u << 16;

/// A dataset of one dimension that is in memory only.
class Scratch {
 public:
  Status open(hid_t type, hsize_t elements) {
    BENTO_ASSIGN(file_, make_memory_file("a data transform", kFileIncrement));
    space_ = SpaceHandle(H5Screate_simple(1, &elements, nullptr));
    dataset_ =
        DatasetHandle(H5Dcreate_anon(file_.get(), type, space_.get(), H5P_DEFAULT, H5P_DEFAULT));
    return dataset_.valid() ? Status{}
                            : fail(Code::kInternal, "no memory file for a data transform");
  }

  Status pass(hid_t type, hsize_t elements, hid_t transforming, std::byte* buffer) {
    const hsize_t start = 0;
    const SpaceHandle memory(H5Screate_simple(1, &elements, nullptr));
    if (H5Sselect_hyperslab(space_.get(), H5S_SELECT_SET, &start, nullptr, &elements, nullptr) < 0)
      return fail(Code::kInternal, "no selection for a data transform");
    if (H5Dwrite(dataset_.get(), type, memory.get(), space_.get(), transforming, buffer) < 0)
      return fail(Code::kInvalidArgument,
                  "HDF5 cannot apply the data transform of the transfer list to these elements");
    if (H5Dread(dataset_.get(), type, memory.get(), space_.get(), H5P_DEFAULT, buffer) < 0)
      return fail(Code::kInternal, "what a data transform gave cannot be read");
    return {};
  }

 private:
  FileHandle file_;
  SpaceHandle space_;
  DatasetHandle dataset_;
};

/// HDF5's name of the property, and its value: a pointer that is null without a transform.
constexpr const char* kProperty = "data_transform";

bool property_is_a_pointer() {
  std::size_t bytes = 0;
  return H5Pget_size(H5P_DATASET_XFER_DEFAULT, kProperty, &bytes) >= 0 && bytes == sizeof(void*);
}

/// May this list have a transform? H5Pget_data_transform() of one that has none fails, and takes
/// longer than all else of a small H5Dwrite. The value of a property that is there is a copy, which
/// HDF5 has no call to free: so it is taken once of each list, and kept.
bool may_have_transform(hid_t dxpl) {
  static const bool known_form = property_is_a_pointer();
  if (!known_form) return true;
  static std::mutex mutex;
  static std::map<hid_t, void*> copies;
  const std::lock_guard lock(mutex);
  if (copies.contains(dxpl)) return true;
  void* value = nullptr;
  if (H5Pget(dxpl, kProperty, static_cast<void*>(&value)) < 0) return true;
  if (value == nullptr) return false;
  copies.emplace(dxpl, value);
  return true;
}

}  // namespace

std::string transform_of(hid_t dxpl) {
  if (dxpl == H5P_DEFAULT || dxpl == H5P_DATASET_XFER_DEFAULT || !may_have_transform(dxpl))
    return {};
  const QuietErrors quiet;
  const ErrorStackKeeper keep;
  return library_text([&](char* room, std::size_t bytes) {
           return H5Pget_data_transform(dxpl, room, bytes);
         })
      .value_or(std::string());
}

Status apply_transform(const std::string& expression, hid_t type, std::uint64_t count,
                       std::byte* elements) {
  const PlistHandle list(H5Pcreate(H5P_DATASET_XFER));
  if (H5Pset_data_transform(list.get(), expression.c_str()) < 0)
    return fail(Code::kInternal, "the data transform of the transfer list cannot be copied");
  Scratch scratch;
  BENTO_TRY(scratch.open(type, std::min<hsize_t>(count, kElementsAtOnce)));
  const std::size_t element_bytes = H5Tget_size(type);
  for (std::uint64_t done = 0; done < count; done += kElementsAtOnce)
    BENTO_TRY(scratch.pass(type, std::min<hsize_t>(count - done, kElementsAtOnce), list.get(),
                           elements + done * element_bytes));
  return {};
}

}  // namespace bento::vol
