// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/parts_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include <fmt/format.h>

#include "transfer/cache_note.hpp"
#include "transfer/kvtree.hpp"
#include "transfer/own_folder.hpp"

namespace bento::transfer {
namespace {

constexpr const char* kAgain = "again";
constexpr const char* kArrived = "arrived";

/// The last part of its name.
std::string parts_name(const std::string& final_name, const std::string& id) {
  const std::string note = base_of(note_name(final_name));
  return fmt::format("{}.parts-{}", note.substr(0, note.rfind('.')), id);
}

std::string marker(std::uint32_t share) {
  return fmt::format("complete-{}", share);
}

}  // namespace

Result<PartsFolder> PartsFolder::make(int folder, const std::string& final_name,
                                      const std::string& id) {
  PartsFolder parts;
  const std::string name = parts_name(final_name, id);
  parts.path_ = folder_of(final_name) + "/" + name;
  BENTO_ASSIGN(parts.folder_, open_own_folder(folder, name, parts.path_));
  BENTO_ASSIGN(parts.new_, open_own_folder(parts.folder_.get(), "new", parts.path_ + "/new"));
  return parts;
}

bool PartsFolder::exists(int folder, const std::string& final_name, const std::string& id) {
  return is_there(folder, parts_name(final_name, id));
}

void PartsFolder::tell_arrived(int folder, const std::string& final_name, const std::string& id) {
  const std::string name = parts_name(final_name, id);
  const auto parts = open_folder(folder, name, name);
  if (!parts) return;
  (void)open_at(parts->get(), kArrived, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600, name);
  ::unlinkat(parts->get(), marker(0).c_str(), 0);
  if (const auto files = open_folder(parts->get(), "new", name))
    (void)remove_files(files->get(), name);
}

bool PartsFolder::has_arrived(int folder, const std::string& final_name, const std::string& id) {
  return is_there(folder, parts_name(final_name, id) + "/" + kArrived);
}

void PartsFolder::leave(int folder, const std::string& final_name, const std::string& id,
                        const Share& share) {
  const std::string name = parts_name(final_name, id);
  ::unlinkat(folder, (name + "/" + marker(share.index)).c_str(), 0);
  for (std::uint32_t other = 1; other < share.count; ++other)
    if (is_there(folder, name + "/" + marker(other))) return;
  remove(folder, final_name, id);
}

void PartsFolder::remove_others(int folder, const std::string& final_name, const std::string& id) {
  const std::string prefix = parts_name(final_name, {});
  const auto names = names_in(folder, folder_of(final_name));
  if (!names) return;
  for (const auto& name : *names)
    if (name.starts_with(prefix) && name != prefix + id)
      remove(folder, final_name, name.substr(prefix.size()));
}

void PartsFolder::remove_others(const std::string& final_name, const std::string& id) {
  const std::string folder = folder_of(final_name);
  if (const auto place = open_at(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, 0, folder))
    remove_others(place->get(), final_name, id);
}

void PartsFolder::remove(int folder, const std::string& final_name, const std::string& id) {
  const std::string name = parts_name(final_name, id);
  const auto parts = open_folder(folder, name, name);
  if (!parts) return;
  if (const auto files = open_folder(parts->get(), "new", name))
    (void)remove_files(files->get(), name);
  (void)remove_files(parts->get(), name);
  ::unlinkat(parts->get(), "new", AT_REMOVEDIR);
  ::unlinkat(folder, name.c_str(), AT_REMOVEDIR);
}

Result<Descriptor> PartsFolder::open_part(const std::string& name) {
  return open_at(new_.get(), name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600,
                 part_path(name));
}

std::string PartsFolder::part_path(const std::string& name) const {
  return fmt::format("{}/new/{}", path_, name);
}

bool PartsFolder::is_part(const std::string& name, int file) const {
  struct stat named{};
  struct stat open{};
  return ::fstatat(new_.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         ::fstat(file, &open) == 0 && named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

bool PartsFolder::complete(std::uint32_t share) const {
  return is_there(folder_.get(), marker(share));
}

Status PartsFolder::set_complete(std::uint32_t share, const Lengths& bytes) {
  BENTO_TRY(sync(new_.get(), path_));
  KvTree tree;
  for (const auto& [part, length] : bytes)
    tree.append(fmt::format("{}", part), fmt::format("{}", length));
  BENTO_ASSIGN(const auto text, encode_kvtree(tree));
  const std::string next = marker(share) + ".next";
  {
    BENTO_ASSIGN(
        const Descriptor file,
        open_at(folder_.get(), next, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600, path_));
    BENTO_TRY(write_whole(file.get(), 0, text, path_));
    BENTO_TRY(sync(file.get(), path_));
  }
  if (::renameat(folder_.get(), next.c_str(), folder_.get(), marker(share).c_str()) != 0)
    return fail(os_error(errno, "rename of", fmt::format("{}/{}", path_, next)));
  return sync(folder_.get(), path_);
}

Result<PartsFolder::Lengths> PartsFolder::lengths(std::uint32_t shares) const {
  Lengths all;
  for (std::uint32_t share = 0; share < shares; ++share) {
    const std::string shown = path_ + "/" + marker(share);
    BENTO_ASSIGN(const Descriptor file,
                 open_at(folder_.get(), marker(share), O_RDONLY | O_NOFOLLOW, 0, shown));
    BENTO_ASSIGN(const auto bytes, read_whole(file.get(), kMaxKvBytes, shown));
    BENTO_ASSIGN(const KvTree tree, decode_kvtree(bytes));
    for (const auto& one : tree.elements()) {
      const auto part = static_cast<std::uint32_t>(std::strtoul(one.key.c_str(), nullptr, 10));
      const std::string length(tree.value(one.key));
      all[part] = std::max<std::uint64_t>(all[part], std::strtoull(length.c_str(), nullptr, 10));
    }
  }
  return all;
}

std::vector<std::uint32_t> PartsFolder::missing(std::uint32_t shares) const {
  std::vector<std::uint32_t> all;
  for (std::uint32_t share = 0; share < shares; ++share)
    if (!complete(share)) all.push_back(share);
  return all;
}

// The files first: who has one open sees, before it sets its mark, that it is not the one of that
// name any more.
Result<bool> PartsFolder::begin_again() {
  const bool before = is_there(folder_.get(), kAgain);
  BENTO_ASSIGN(const Descriptor file,
               open_at(folder_.get(), kAgain, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600, path_));
  BENTO_TRY(remove_files(new_.get(), path_ + "/new"));
  BENTO_TRY(remove_files(folder_.get(), path_, kAgain));
  BENTO_TRY(sync(folder_.get(), path_));
  return before;
}

}  // namespace bento::transfer
