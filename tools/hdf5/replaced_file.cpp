// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tools/hdf5/replaced_file.hpp"

#include <sys/stat.h>

#include <filesystem>

#include <fmt/format.h>

#include "core/io/file.hpp"
#include "core/io/file_lock.hpp"
#include "core/io/host.hpp"
#include "core/layout/replace.hpp"
#include "core/offline/survey.hpp"

namespace bento::tools {

namespace {

Status not_of_source(const std::string& path, const std::string& source) {
  const auto itself = [&path] {
    return fail(Code::kExists,
                fmt::format("'{}' is the file itself that shall be copied, or a part of it", path));
  };
  if (lead_to_one_file(path, source)) return itself();
  if (!check_is_container(source)) return {};
  BENTO_ASSIGN(const Survey survey, Survey::open(source));
  for (const auto& file : survey.files())
    if (lead_to_one_file(path, file.path)) return itself();
  return {};
}

}  // namespace

Status check_may_be_replaced(const std::string& path, const std::string& source) {
  struct stat about{};
  if (::stat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) return {};
  BENTO_TRY(not_of_source(path, source));
  std::error_code failed;
  // Of a link the link is replaced, and not what it leads to.
  if (std::filesystem::is_symlink(path, failed)) return {};
  BENTO_ASSIGN(const auto file, open_posix_file(path, OpenMode::kRead));
  if (is_locked(*file) || is_locked_by_hdf5(*file))
    return fail(Code::kBusy, fmt::format("'{}' is open for writing in another process", path));
  BENTO_TRY(check_is_no_part(*file, &open_posix_file));
  if (!check_is_container(path)) return {};
  BENTO_ASSIGN(const Survey there, Survey::open(path));
  if (there.plan().files() < 2) return {};
  return fail(Code::kExists, fmt::format("'{}' is a container of {} files: delete it first", path,
                                         there.plan().files()));
}

}  // namespace bento::tools
