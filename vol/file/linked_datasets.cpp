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

}  // namespace

Result<std::map<TokenBytes, std::string>> linked_datasets(const std::string& path,
                                                          const PagedImage& skeleton) {
  const QuietErrors quiet;
  const ErrorStackKeeper keep;
  BENTO_ASSIGN(const FileHandle file, open_skeleton_copy(path, skeleton));
  std::map<TokenBytes, std::string> paths;
  if (H5Ovisit3(file.get(), H5_INDEX_NAME, H5_ITER_NATIVE, note_dataset, &paths, H5O_INFO_BASIC) <
      0)
    return fail(Code::kInternal, "the skeleton's datasets cannot be listed");
  return paths;
}

}  // namespace bento::vol
