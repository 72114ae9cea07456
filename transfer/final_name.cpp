// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/final_name.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <optional>

#include <fmt/format.h>

#include "core/io/file_lock.hpp"
#include "core/layout/identity.hpp"
#include "core/layout/plan.hpp"
#include "core/layout/replace.hpp"
#include "transfer/cache_folder.hpp"
#include "transfer/descriptor.hpp"

namespace bento::transfer {
namespace {

/// A file that has the name of a part, and is none of the container that is replaced, would be
/// lost.
Status check_part_place(const std::string& final_name, std::uint32_t part,
                        const std::optional<Identity>& first) {
  const std::string name = physical_name(final_name, part);
  const auto file = open_posix_file(name, OpenMode::kRead);
  if (!file && file.error().code == Code::kNotFound) return {};
  if (!file) return fail(file.error());
  const auto found = find_identity(**file);
  if (found && *found && (*found)->part == part && (!first || (*found)->file_id == first->file_id))
    return {};
  return fail(Code::kExists,
              fmt::format("'{}' would be lost: its name is that of physical file {} of '{}'. If "
                          "nobody needs it: rm '{}' (errno = {})",
                          name, part, final_name, name, EEXIST),
              EEXIST);
}

}  // namespace

Status check_final_name(const std::string& final_name, std::uint32_t files, bool exclusive) {
  if (CacheFolder::keeps(base_of(final_name)))
    return fail(
        Code::kUnsupported,
        fmt::format("'{}' cannot be written through a cache, which keeps a file '{}' of its "
                    "own beside each container: give it another name, or use cache=off",
                    final_name, base_of(final_name)));
  // The daemon has it under a longer one first.
  constexpr std::size_t kLonger = 64;
  if (final_name.size() + kLonger > PATH_MAX)
    return fail(os_error(ENAMETOOLONG, "create, through a cache, of", final_name));
  const std::string folder = folder_of(final_name);
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return fail(os_error(errno, "access to the folder of", final_name));
  std::optional<Identity> first;
  struct stat about{};
  if (::stat(final_name.c_str(), &about) == 0) {
    if (exclusive) return fail(os_error(EEXIST, "create of", final_name));
    if (S_ISDIR(about.st_mode)) return fail(os_error(EISDIR, "create of", final_name));
    if (!S_ISREG(about.st_mode))
      return fail(
          Code::kUnsupported,
          fmt::format("'{}' is no regular file: it cannot be written through a cache", final_name));
    BENTO_ASSIGN(const auto file, open_posix_file(final_name, OpenMode::kReadWrite));
    if (is_locked(*file) || is_locked_by_hdf5(*file))
      return fail(Code::kBusy,
                  fmt::format("'{}' is open for writing in another process", final_name), EBUSY);
    BENTO_TRY(check_is_no_part(*file, open_posix_file));
    BENTO_ASSIGN(first, find_identity(*file));
  }
  for (std::uint32_t part = 1; part < files; ++part)
    BENTO_TRY(check_part_place(final_name, part, first));
  return {};
}

}  // namespace bento::transfer
