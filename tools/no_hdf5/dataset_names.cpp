// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tools/dataset_names.hpp"

namespace bento::tools {

std::map<DatasetNumber, std::string> dataset_names(const std::string& /*path*/) {
  return {};
}

}  // namespace bento::tools
