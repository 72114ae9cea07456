// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/linked_datasets.hpp"

#include "hdf5/base/quiet_errors.hpp"
#include "hdf5/skeleton/skeleton_copy.hpp"

namespace bento::vol {

namespace {

herr_t note_dataset(hid_t, const char* name, const H5O_info2_t* info, void* data) {
  if (info->type != H5O_TYPE_DATASET) return 0;
  try {
    static_cast<std::map<TokenBytes, std::string>*>(data)->emplace(token_bytes(info->token),
                                                                   std::string("/") + name);
    return 0;
  } catch (...) {
    return -1;
  }
}

herr_t note_object(hid_t, const char*, const H5O_info2_t* info, void* data) {
  try {
    static_cast<LinkedObjects*>(data)->emplace(token_bytes(info->token), info->type);
    return 0;
  } catch (...) {
    return -1;
  }
}

Status visit(const std::string& path, const PagedImage& skeleton, H5O_iterate2_t note, void* data) {
  const QuietErrors quiet;
  const ErrorStackKeeper keep;
  BENTO_ASSIGN(const FileHandle file, open_skeleton_copy(path, skeleton));
  if (H5Ovisit3(file.get(), H5_INDEX_NAME, H5_ITER_NATIVE, note, data, H5O_INFO_BASIC) < 0)
    return fail(Code::kInternal, "the skeleton's objects cannot be listed");
  return {};
}

}  // namespace

Result<std::map<TokenBytes, std::string>> linked_datasets(const std::string& path,
                                                          const PagedImage& skeleton) {
  std::map<TokenBytes, std::string> paths;
  BENTO_TRY(visit(path, skeleton, note_dataset, &paths));
  return paths;
}

Result<LinkedObjects> linked_objects(const std::string& path, const PagedImage& skeleton) {
  LinkedObjects objects;
  BENTO_TRY(visit(path, skeleton, note_object, &objects));
  return objects;
}

}  // namespace bento::vol
