// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/one_name.hpp"

#include <filesystem>

#include "transfer/descriptor.hpp"

namespace bento::transfer {

std::string one_name(const std::string& name) {
  if (name.empty()) return name;
  std::error_code problem;
  const auto folder = std::filesystem::weakly_canonical(folder_of(name), problem);
  return problem ? name : (folder / base_of(name)).string();
}

}  // namespace bento::transfer
