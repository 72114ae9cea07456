// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/outdated_parts.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/io/file.hpp"
#include "core/layout/identity.hpp"
#include "core/layout/plan.hpp"
#include "core/layout/root.hpp"

namespace bento::transfer {

Result<std::vector<std::string>> outdated_parts(int folder, const std::vector<std::string>& names) {
  std::vector<std::string> outdated;
  const std::string path = fmt::format("/proc/self/fd/{}/", folder);
  const auto master = open_posix_file(path + names.front(), OpenMode::kRead);
  if (!master) return outdated;
  const auto seen = probe(**master);
  if (!seen || seen->kind != FileKind::kContainer) return outdated;
  for (std::uint32_t index = 1; index < seen->root.files(); ++index) {
    const std::string name = physical_name(names.front(), index);
    if (std::ranges::find(names, name) != names.end()) continue;
    const auto part = open_posix_file(path + name, OpenMode::kRead);
    if (!part) continue;
    const auto identity = find_identity(**part);
    if (identity && *identity && (*identity)->file_id == seen->root.file_id &&
        (*identity)->part == index)
      outdated.push_back(name);
  }
  return outdated;
}

}  // namespace bento::transfer
