// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tools/dataset_names.hpp"

#include "tools/hdf5/start.hpp"
#include "vol/library/steps.hpp"

namespace bento::tools {

std::map<DatasetNumber, std::string> dataset_names(const std::string& path) {
  if (!start_hdf5()) return {};
  auto names = vol::dataset_paths(path);
  if (!names) return {};
  return std::move(*names);
}

}  // namespace bento::tools
