// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/layout/replace.hpp"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>
#include <sys/stat.h>

#include "core/io/host.hpp"
#include "core/layout/identity.hpp"
#include "core/sion/constants.hpp"

namespace bento {

namespace {

std::string quoted(const std::string& name) {
  std::string text = "'";
  for (const char c : name) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

tl::unexpected<Error> in_the_way(File& file, std::uint32_t part, const std::string& container,
                                 const std::optional<Identity>& found) {
  return fail(
      Code::kExists,
      fmt::format("'{}' would be lost: its name is that of physical file {} of '{}', but "
                  "it is {}. If nobody needs it: rm {} (errno = {})",
                  file.path(), part, container, describe(file, found), quoted(file.path()), EEXIST),
      EEXIST);
}

/// Nothing but what a create writes first, whole or torn: the magic, and perhaps a piece of the
/// identity. Such a file holds no data.
Result<bool> hardly_begun(File& file, std::uint64_t superblock) {
  BENTO_ASSIGN(const std::uint64_t bytes, file.size());
  if (bytes > superblock + kSectorBytes) return false;
  std::vector<std::byte> all(static_cast<std::size_t>(bytes));
  BENTO_TRY(file.read_at(0, all));
  const auto magic = std::as_bytes(std::span(kSionMagic));
  for (std::size_t at = 0; at < all.size(); ++at) {
    const bool identity =
        at >= superblock + kIdentityAt && at < superblock + kIdentityAt + 2 * kIdentityBytes;
    const bool of_magic = at < magic.size() && all[at] == magic[at];
    if (!identity && !of_magic && all[at] != std::byte{0}) return false;
  }
  return true;
}

}  // namespace

Result<InTheWay> look_before_create(const ContainerNames& names, std::uint32_t part,
                                    const std::optional<FileId>& file_id, std::uint64_t superblock,
                                    const FileOpener& opener) {
  const auto there = opener(names.of_new(part), OpenMode::kRead);
  if (!there && there.error().code == Code::kNotFound) return InTheWay::kNothing;
  if (!there) return fail(there.error());
  BENTO_ASSIGN(const auto found, find_identity(**there));
  const bool known = found && found->part == part;
  // If its own file 0 were still there, it would have this name, and this id.
  if (known && (file_id == found->file_id || found->name == names.base())) return InTheWay::kOurs;
  BENTO_ASSIGN(const bool begun, found ? Result<bool>(false) : hardly_begun(**there, superblock));
  if (begun) return InTheWay::kOurs;
  return in_the_way(**there, part, names.first(), found);
}

Result<std::vector<std::string>> parts_to_remove(const ContainerNames& names, const Root& root,
                                                 bool all, const FileOpener& opener) {
  std::vector<std::string> parts;
  for (std::uint32_t part = 1; part < root.files(); ++part) {
    const auto file = names.open(part, OpenMode::kRead, opener);
    if (!file && file.error().code == Code::kNotFound) continue;  // already gone is as good
    if (!file) return fail(file.error());
    BENTO_ASSIGN(const auto found, find_identity(**file));
    if (found && found->file_id == root.file_id && found->part == part)
      parts.push_back((*file)->path());
    else if (all)
      return in_the_way(**file, part, names.first(), found);
  }
  return parts;
}

Status check_is_no_part(File& file, const FileOpener& opener) {
  BENTO_ASSIGN(const auto found, find_identity(file));
  if (!found || found->part == 0) return {};
  const std::string first = name_of_first(file.path());
  if (first.empty()) return {};
  const auto whole = opener(first, OpenMode::kRead);
  if (!whole) return {};
  const auto other = find_identity(**whole);
  if (!other || !*other || (*other)->file_id != found->file_id) return {};
  return fail(
      Code::kExists,
      fmt::format("'{}' is physical file {} of the container '{}', which would lose it. If "
                  "nobody needs that container: rm {} {} (errno = {})",
                  file.path(), found->part, first, quoted(first), quoted(file.path()), EEXIST),
      EEXIST);
}

Status remove_container(const std::string& path, const Root& root, const FileOpener& opener) {
  struct stat about{};
  // Of a link the library, too, removes the link only.
  if (::lstat(path.c_str(), &about) == 0 && S_ISLNK(about.st_mode)) return remove_file(path);
  BENTO_ASSIGN(const auto first, opener(path, OpenMode::kRead));
  BENTO_ASSIGN(const auto parts, parts_to_remove(ContainerNames::of(*first), root, true, opener));
  // The sub-files first: if that fails the container is still whole enough to be named in an error.
  for (const auto& part : parts) {
    auto removed = remove_file(part);
    if (!removed && removed.error().code != Code::kNotFound) return removed;
  }
  return remove_file(path);
}

}  // namespace bento
