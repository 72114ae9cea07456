// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/work_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <span>

#include <fmt/format.h>

#include "core/base/hash.hpp"
#include "core/io/file.hpp"
#include "core/io/file_lock.hpp"
#include "transfer/kvtree.hpp"
#include "transfer/own_folder.hpp"

namespace bento::transfer {
namespace {

constexpr const char* kComplete = "complete";
constexpr const char* kCompleteNext = "complete.next";
constexpr const char* kJournal = "journal";

/// One folder for each destination, the same after a restart.
std::string work_name(const std::string& path) {
  const Hash128 hash = hash128(std::as_bytes(std::span(path)));
  std::string name = ".h5bento-";
  for (std::size_t i = 0; i < 8; ++i) name += fmt::format("{:02x}", static_cast<unsigned>(hash[i]));
  return name;
}

Status move(int from, int to, const std::string& name, const std::string& shown) {
  if (::renameat(from, name.c_str(), to, name.c_str()) != 0)
    return fail(os_error(errno, "rename of", fmt::format("{}/{}", shown, name)));
  return {};
}

}  // namespace

Result<WorkFolder> WorkFolder::open(Descriptor folder, const std::string& path) {
  WorkFolder work;
  work.folder_ = std::move(folder);
  work.path_ = folder_of(path);
  work.name_ = work_name(path);
  const std::string shown = work.path_ + "/" + work.name_;
  for (;;) {
    BENTO_ASSIGN(work.work_, open_own_folder(work.folder_.get(), work.name_, shown));
    BENTO_ASSIGN(work.lock_,
                 open_at(work.work_.get(), "lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0600, shown));
    if (::flock(work.lock_.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return fail(os_error(errno, "lock of", shown));
      return fail(Code::kBusy, fmt::format("another daemon copies to '{}'", path), EWOULDBLOCK);
    }
    // The one before may have removed it between our open and our lock.
    struct stat named{};
    struct stat locked{};
    if (::fstatat(work.folder_.get(), (work.name_ + "/lock").c_str(), &named, 0) == 0 &&
        ::fstat(work.lock_.get(), &locked) == 0 && named.st_ino == locked.st_ino)
      break;
  }
  BENTO_ASSIGN(work.new_, open_own_folder(work.work_.get(), "new", shown + "/new"));
  BENTO_ASSIGN(work.old_, open_own_folder(work.work_.get(), "old", shown + "/old"));
  BENTO_TRY(work.load_complete());
  return work;
}

bool WorkFolder::exists(int folder, const std::string& path) {
  return is_there(folder, work_name(path));
}

Status WorkFolder::load_complete() {
  const std::string shown = path_ + "/" + name_ + "/" + kComplete;
  auto file = open_at(work_.get(), kComplete, O_RDONLY | O_NOFOLLOW, 0, shown);
  if (!file) return {};
  BENTO_ASSIGN(const auto bytes, read_whole(file->get(), kMaxKvBytes, shown));
  const auto tree = decode_kvtree(bytes);
  if (!tree) return {};
  complete_ = tree->value("TICKET");
  const auto take = [&](const char* key, std::vector<std::string>& into) {
    const KvTree* const listed = tree->find(key);
    if (listed == nullptr) return;
    for (const auto& one : listed->elements())
      if (one.key.find('/') == std::string::npos) into.push_back(one.key);
  };
  take("NAMES", names_);
  take("OUTDATED", outdated_);
  return {};
}

Result<Descriptor> WorkFolder::open_copy(const std::string& name) {
  return open_at(new_.get(), name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600,
                 path_ + "/" + name_ + "/new/" + name);
}

bool WorkFolder::has_copy(const std::string& name) const {
  return is_there(new_.get(), name);
}

std::string WorkFolder::copy_path(const std::string& name) const {
  return fmt::format("{}/{}/new/{}", path_, name_, name);
}

std::string WorkFolder::open_path(const std::string& name) const {
  return fmt::format("/proc/self/fd/{}/{}", new_.get(), name);
}

Status WorkFolder::take_over(int from, const std::vector<std::string>& names) {
  const std::string shown = path_ + "/" + name_ + "/new";
  for (const auto& name : names) {
    if (is_there(from, name)) {
      BENTO_TRY(move(from, new_.get(), name, shown));
    } else if (!is_there(new_.get(), name)) {
      return fail(os_error(ENOENT, "taking over", shown + "/" + name));
    }
  }
  return sync(new_.get(), shown);
}

Result<std::unique_ptr<File>> WorkFolder::open_journal() {
  const std::string shown = path_ + "/" + name_ + "/" + kJournal;
  BENTO_ASSIGN(const Descriptor made,
               open_at(work_.get(), kJournal, O_RDWR | O_CREAT | O_NOFOLLOW, 0600, shown));
  BENTO_TRY(sync(work_.get(), shown));
  return open_posix_file(fmt::format("/proc/self/fd/{}", made.get()), OpenMode::kReadWrite);
}

std::string WorkFolder::journal_path() const {
  return fmt::format("{}/{}/{}", path_, name_, kJournal);
}

Status WorkFolder::keep_copies() {
  return sync(new_.get(), path_ + "/" + name_ + "/new");
}

Status WorkFolder::set_complete(const std::string& ticket, const std::vector<std::string>& names,
                                const std::vector<std::string>& outdated) {
  const std::string shown = path_ + "/" + name_ + "/" + kComplete;
  BENTO_TRY(sync(new_.get(), shown));
  KvTree tree;
  tree.append("TICKET", ticket);
  KvTree& all = tree.append("NAMES");
  for (const auto& name : names) all.append(name);
  KvTree& old = tree.append("OUTDATED");
  for (const auto& name : outdated) old.append(name);
  BENTO_ASSIGN(const auto bytes, encode_kvtree(tree));
  {
    BENTO_ASSIGN(const Descriptor file,
                 open_at(work_.get(), kCompleteNext, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW,
                         0600, shown));
    BENTO_TRY(write_whole(file.get(), 0, bytes, shown));
    BENTO_TRY(sync(file.get(), shown));
  }
  if (::renameat(work_.get(), kCompleteNext, work_.get(), kComplete) != 0)
    return fail(os_error(errno, "rename of", shown));
  BENTO_TRY(sync(work_.get(), shown));
  complete_ = ticket;
  names_ = names;
  outdated_ = outdated;
  return {};
}

bool WorkFolder::all_named(const std::vector<std::string>& names) const {
  for (const auto& name : names)
    if (is_there(new_.get(), name)) return false;
  return true;
}

Status WorkFolder::check_places(const std::vector<std::string>& names) const {
  for (const auto& name : names) {
    struct stat about{};
    if (::fstatat(folder_.get(), name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(about.st_mode) && !S_ISLNK(about.st_mode))
      return fail(Code::kExists,
                  fmt::format("'{}/{}' is there already and is no regular file: it is not replaced",
                              path_, name));
  }
  const std::string master = fmt::format("/proc/self/fd/{}/{}", folder_.get(), names.front());
  const auto old = open_posix_file(master, OpenMode::kRead);
  if (old && (is_locked(**old) || is_locked_by_hdf5(**old)))
    return fail(Code::kBusy,
                fmt::format("a program writes to '{}/{}'; it is replaced when that is over", path_,
                            names.front()),
                EWOULDBLOCK);
  return {};
}

Status WorkFolder::name_one(const std::string& name) {
  if (is_there(new_.get(), name)) BENTO_TRY(move(new_.get(), folder_.get(), name, path_));
  return sync(folder_.get(), path_);
}

Status WorkFolder::name_several(const std::vector<std::string>& names) {
  for (const auto& name : names)
    if (is_there(new_.get(), name) && is_there(folder_.get(), name))
      BENTO_TRY(move(folder_.get(), old_.get(), name, path_));
  BENTO_TRY(sync(folder_.get(), path_));
  for (std::size_t i = names.size(); i-- > 0;) {
    // The master's name must not be there before the others' are, not even after a loss of power.
    if (i == 0) BENTO_TRY(sync(folder_.get(), path_));
    if (is_there(new_.get(), names[i])) BENTO_TRY(move(new_.get(), folder_.get(), names[i], path_));
  }
  return sync(folder_.get(), path_);
}

void WorkFolder::put_back(const std::vector<std::string>& names) {
  for (const auto& name : names)
    if (!is_there(new_.get(), name) && is_there(folder_.get(), name))
      (void)move(folder_.get(), new_.get(), name, path_);
  for (std::size_t i = names.size(); i-- > 0;)
    if (is_there(old_.get(), names[i])) (void)move(old_.get(), folder_.get(), names[i], path_);
}

Status WorkFolder::name_all(const std::vector<std::string>& names) {
  if (!all_named(names)) {
    BENTO_TRY(check_places(names));
    if (names.size() == 1) {
      BENTO_TRY(name_one(names.front()));
    } else if (auto named = name_several(names); !named) {
      put_back(names);
      return named;
    }
  }
  for (const auto& name : outdated_)
    if (::unlinkat(folder_.get(), name.c_str(), 0) != 0 && errno != ENOENT)
      return fail(os_error(errno, "removal of the outdated", path_ + "/" + name));
  BENTO_TRY(remove_files(old_.get(), path_ + "/" + name_ + "/old"));
  return sync(folder_.get(), path_);
}

Status WorkFolder::discard() {
  if (!complete_.empty() && !all_named(names_)) put_back(names_);
  complete_.clear();
  names_.clear();
  outdated_.clear();
  if (::unlinkat(work_.get(), kComplete, 0) != 0 && errno != ENOENT)
    return fail(os_error(errno, "removal of", path_ + "/" + name_ + "/" + kComplete));
  if (::unlinkat(work_.get(), kJournal, 0) != 0 && errno != ENOENT)
    return fail(os_error(errno, "removal of", path_ + "/" + name_ + "/" + kJournal));
  return remove_files(new_.get(), path_ + "/" + name_ + "/new");
}

Status WorkFolder::remove() {
  const std::string shown = path_ + "/" + name_;
  BENTO_TRY(remove_files(new_.get(), shown + "/new"));
  BENTO_TRY(remove_files(old_.get(), shown + "/old"));
  for (const char* const folder : {"new", "old"})
    if (::unlinkat(work_.get(), folder, AT_REMOVEDIR) != 0 && errno != ENOENT)
      return fail(os_error(errno, "removal of", shown + "/" + folder));
  BENTO_TRY(remove_files(work_.get(), shown));
  if (::unlinkat(folder_.get(), name_.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
    return fail(os_error(errno, "removal of", shown));
  return {};
}

Status WorkFolder::abandon() {
  if (!complete_.empty() && !all_named(names_)) put_back(names_);
  BENTO_ASSIGN(const auto replaced, names_in(old_.get(), path_ + "/" + name_ + "/old"));
  for (const auto& name : replaced)
    if (!is_there(folder_.get(), name)) BENTO_TRY(move(old_.get(), folder_.get(), name, path_));
  return remove();
}

void clean_destination(const std::string& destination, const AllowedFolders& allowed) {
  // Nothing is made where there is nothing.
  if (::access(folder_of(destination).c_str(), W_OK) != 0) return;
  auto folder = allowed.open(folder_of(destination));
  if (!folder || !WorkFolder::exists(folder->get(), destination)) return;
  if (auto work = WorkFolder::open(std::move(*folder), destination)) (void)work->abandon();
}

}  // namespace bento::transfer
