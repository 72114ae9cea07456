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
#include "transfer/cached_copy.hpp"

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

Status nobody_writes(const std::string& path, const File& file) {
  if (!is_locked(file) && !is_locked_by_hdf5(file)) return {};
  return fail(Code::kBusy, fmt::format("'{}' is open for writing in another process", path));
}

Status check_may_be_replaced(const std::string& path, const std::string& source) {
  struct stat about{};
  if (::stat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) return {};
  BENTO_TRY(not_of_source(path, source));
  std::error_code failed;
  // Of a link the link is replaced, and not what it leads to.
  if (std::filesystem::is_symlink(path, failed)) return {};
  BENTO_ASSIGN(const auto file, open_posix_file(path, OpenMode::kRead));
  BENTO_TRY(nobody_writes(path, *file));
  BENTO_TRY(check_is_no_part(*file, &open_posix_file));
  if (!check_is_container(path)) return {};
  BENTO_ASSIGN(const Survey there, Survey::open(path));
  if (there.plan().files() < 2) return {};
  return fail(Code::kExists, fmt::format("'{}' is a container of {} files: delete it first", path,
                                         there.plan().files()));
}

bool same_state(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

}  // namespace

Result<ReplacedFile> ReplacedFile::look(const std::string& path, const std::string& source,
                                        bool force) {
  BENTO_TRY(transfer::check_can_discard(path, !force));
  ReplacedFile file;
  file.path_ = path;
  // Before the check: what is written during it counts.
  file.there_ = ::lstat(path.c_str(), &file.state_) == 0;
  BENTO_TRY(check_may_be_replaced(path, source));
  return file;
}

Status ReplacedFile::check_unchanged() const {
  // What look() found of it holds as long as its state is the same.
  if (there_ && S_ISREG(state_.st_mode)) {
    const auto file = open_posix_file(path_, OpenMode::kRead);
    if (file) BENTO_TRY(nobody_writes(path_, **file));
    if (!file && file.error().code != Code::kNotFound) return fail(file.error());
  }
  struct stat now{};
  const bool there = ::lstat(path_.c_str(), &now) == 0;
  if (there == there_ && (!there || same_state(now, state_))) return {};
  return fail(Code::kBusy,
              fmt::format("'{}' was changed by another program meanwhile, and stays as "
                          "it is now",
                          path_));
}

Status ReplacedFile::settle() const {
  return transfer::discard_copies(path_);
}

}  // namespace bento::tools
