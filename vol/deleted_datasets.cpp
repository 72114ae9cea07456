// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/deleted_datasets.hpp"

#include <cstring>

#include "vol/h5/quiet_errors.hpp"
#include "vol/skeleton/skeleton_copy.hpp"

namespace bento::vol {

namespace {

herr_t note_dataset(hid_t, const char*, const H5O_info2_t* info, void* data) {
  if (info->type != H5O_TYPE_DATASET) return 0;
  try {
    TokenBytes token{};
    static_assert(sizeof token == sizeof info->token);
    std::memcpy(token.data(), &info->token, sizeof token);
    static_cast<std::set<TokenBytes>*>(data)->insert(token);
    return 0;
  } catch (...) {
    return -1;
  }
}

}  // namespace

Result<std::set<TokenBytes>> linked_datasets(const std::string& path, const PagedImage& skeleton) {
  const QuietErrors quiet;
  const ErrorStackKeeper keep;
  BENTO_ASSIGN(const FileHandle file, open_skeleton_copy(path, skeleton));
  std::set<TokenBytes> tokens;
  if (H5Ovisit3(file.get(), H5_INDEX_NAME, H5_ITER_NATIVE, note_dataset, &tokens, H5O_INFO_BASIC) <
      0)
    return fail(Code::kInternal, "the skeleton's datasets cannot be listed");
  return tokens;
}

}  // namespace bento::vol
