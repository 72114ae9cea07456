// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "core/io/permissions.hpp"
#include "transfer/descriptor.hpp"
#include "transfer/outdated_parts.hpp"
#include "transfer/source.hpp"
#include "transfer/spill.hpp"
#include "transfer/spill_names.hpp"
#include "transfer/work_folder.hpp"

namespace bento::transfer {
namespace {

constexpr std::size_t kPiece = std::size_t{4} << 20;
/// How long a daemon that copies an older state may keep the name.
constexpr std::chrono::seconds kLongestWait(60);

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  DIR* const stream = ::opendir(folder.c_str());
  if (stream == nullptr) return names;
  while (const dirent* const one = ::readdir(stream))
    if (const std::string name = one->d_name; name != "." && name != "..") names.push_back(name);
  ::closedir(stream);
  return names;
}

/// Last parts of the names of all physical files, the master first.
std::vector<std::string> parts_of(const std::string& copy) {
  const std::string base = base_of(copy);
  std::vector<std::string> parts;
  for (const auto& name : names_in(folder_of(copy)))
    if (name == base || (name.starts_with(base + ".") && name.size() == base.size() + 7))
      parts.push_back(name);
  std::ranges::sort(parts);
  return parts;
}

/// What is in the cache goes where the rest is, holes left out; both are read as one file.
Status bring_together(File& whole, int cached, File& beside, const std::function<Status()>& tick) {
  BENTO_ASSIGN(const std::uint64_t size, whole.size());
  const auto buffer = std::make_unique<std::byte[]>(kPiece);
  for (std::uint64_t at = 0; at < size;) {
    const off_t data = ::lseek(cached, static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;
    if (data < 0) return fail(os_error(errno, "lseek in", whole.path()));
    const off_t hole = ::lseek(cached, data, SEEK_HOLE);
    if (hole < 0) return fail(os_error(errno, "lseek in", whole.path()));
    at = static_cast<std::uint64_t>(data);
    for (const auto end = static_cast<std::uint64_t>(hole); at < end;) {
      const std::size_t count = std::min<std::uint64_t>(kPiece, end - at);
      BENTO_TRY(whole.read_at(at, {buffer.get(), count}));
      BENTO_TRY(beside.write_at(at, {buffer.get(), count}));
      at += count;
      BENTO_TRY(tick());
    }
  }
  BENTO_ASSIGN(const std::uint64_t now, beside.size());
  if (now < size) BENTO_TRY(beside.truncate(size));
  return beside.sync();
}

Status bring_file(const std::string& path, const SpillNames& names, const FileOpener& opener,
                  const std::function<Status()>& tick) {
  BENTO_ASSIGN(const auto whole, opener(path, OpenMode::kRead));
  const std::string data = names.data(base_of(path));
  if (::access(data.c_str(), F_OK) != 0) {
    BENTO_ASSIGN(const auto made, open_posix_file(data, OpenMode::kCreateExclusive));
    BENTO_TRY(made->close());
  }
  BENTO_ASSIGN(const auto beside, open_posix_file(data, OpenMode::kReadWrite));
  BENTO_TRY(bring_together(*whole, whole->descriptor(), *beside, tick));
  take_permissions(whole->descriptor(), beside->descriptor());
  return beside->close();
}

/// A daemon may still be copying an older state, which it leaves when it looks next.
Result<WorkFolder> open_work(const std::string& final_name, const std::function<Status()>& tick) {
  const auto until = std::chrono::steady_clock::now() + kLongestWait;
  const std::string folder = folder_of(final_name);
  for (;;) {
    BENTO_ASSIGN(Descriptor opened, open_at(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, 0, folder));
    auto work = WorkFolder::open(std::move(opened), final_name);
    if (work || work.error().code != Code::kBusy || std::chrono::steady_clock::now() >= until)
      return work;
    BENTO_TRY(tick());
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

/// Whoever died between the renames of finish_spilled() left some there. Nobody else takes one away
/// from its map.
Status take_back(const SpillNames& names, const std::vector<std::string>& parts,
                 const WorkFolder& work) {
  for (const auto& part : parts) {
    if (::access(names.data(part).c_str(), F_OK) == 0 ||
        ::access(names.map(part).c_str(), F_OK) != 0)
      continue;
    if (::rename(work.copy_path(part).c_str(), names.data(part).c_str()) != 0)
      return fail(
          os_error(errno, "looking for what the full cache did not take,", names.data(part)));
  }
  return {};
}

/// Whoever brought it may have died after that, too.
bool has_arrived(const std::string& copy, const std::string& final_name) {
  const auto here = look_at_container(copy);
  const auto there = look_at_container(final_name);
  return here && *here && there && *here == *there;
}

}  // namespace

Status finish_spilled(const std::string& copy, const std::string& final_name,
                      const std::function<Status()>& tick) {
  const SpillNames names(copy, final_name);
  const auto parts = parts_of(copy);
  if (parts.empty() || parts.front() != base_of(copy))
    return fail(Code::kNotFound, fmt::format("'{}' is not there", copy));
  BENTO_ASSIGN(WorkFolder work, open_work(final_name, tick));
  if (work.complete() == id_of_copy(copy)) {  // whoever brought it died after that
    BENTO_TRY(work.name_all(parts));
    return work.remove();
  }
  if (auto taken = take_back(names, parts, work); !taken) {
    if (!has_arrived(copy, final_name)) return taken;
    return work.remove();
  }
  BENTO_TRY(work.discard());
  const auto opener = spilling_opener(copy, final_name, open_posix_file, false);
  for (const auto& part : parts)
    BENTO_TRY(bring_file(folder_of(copy) + "/" + part, names, opener, tick));
  for (const auto& part : parts)
    if (::rename(names.data(part).c_str(), work.copy_path(part).c_str()) != 0)
      return fail(os_error(errno, "rename of", names.data(part)));
  const std::string folder = folder_of(final_name);
  BENTO_ASSIGN(const Descriptor opened,
               open_at(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, 0, folder));
  BENTO_ASSIGN(const auto outdated, outdated_parts(opened.get(), parts));
  BENTO_TRY(work.set_complete(id_of_copy(copy), parts, outdated));
  BENTO_TRY(work.name_all(parts));
  return work.remove();
}

void remove_spill(const std::string& copy, const std::string& final_name) {
  if (id_of_copy(copy).empty() || !has_spilled(copy)) return;
  const SpillNames names(copy, final_name);
  for (const auto& name : names_in(names.folder)) ::unlink((names.folder + "/" + name).c_str());
  ::rmdir(names.folder.c_str());
}

}  // namespace bento::transfer
