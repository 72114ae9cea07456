// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/work_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include <fmt/format.h>

#include "core/base/hash.hpp"
#include "core/base/hex.hpp"
#include "core/io/file.hpp"
#include "core/io/file_lock.hpp"
#include "core/io/permissions.hpp"
#include "transfer/file_stamp.hpp"
#include "transfer/kvtree.hpp"
#include "transfer/own_folder.hpp"

namespace bento::transfer {
namespace {

constexpr const char* kComplete = "complete";
constexpr const char* kCompleteNext = "complete.next";
constexpr const char* kJournal = "journal";

/// One folder for each destination, the same after a restart. By the last part alone: it lies in
/// the folder of the destination, which may have several names (symbolic links, other nodes).
std::string work_name(const std::string& path) {
  const std::string base = base_of(path);
  const Hash128 hash = hash128(std::as_bytes(std::span(base)));
  return ".h5bento-" + hex(std::span(hash).first(8));
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
  const auto take = [&](const char* key, Stamps& into) {
    const KvTree* const listed = tree->find(key);
    if (listed == nullptr) return;
    for (const auto& one : listed->elements())
      if (one.key.find('/') == std::string::npos)
        into.push_back({one.key, std::string(listed->value(one.key))});
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
  BENTO_TRY(sync(new_.get(), path_ + "/" + name_ + "/new"));
  Stamps copies;
  for (const auto& name : names) copies.push_back({name, stamp_of(new_.get(), name)});
  Stamps old;
  for (const auto& name : outdated) old.push_back({name, stamp_of(folder_.get(), name)});
  BENTO_TRY(write_complete(ticket, copies, old));
  complete_ = ticket;
  names_ = std::move(copies);
  outdated_ = std::move(old);
  return {};
}

Status WorkFolder::write_complete(const std::string& ticket, const Stamps& names,
                                  const Stamps& outdated) {
  const std::string shown = path_ + "/" + name_ + "/" + kComplete;
  KvTree tree;
  tree.append("TICKET", ticket);
  KvTree& all = tree.append("NAMES");
  for (const auto& [name, stamp] : names) all.append(name, stamp);
  KvTree& old = tree.append("OUTDATED");
  for (const auto& [name, stamp] : outdated) old.append(name, stamp);
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
  return sync(work_.get(), shown);
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
                fmt::format("a program writes to '{}/{}'; nothing replaces it before that is over",
                            path_, names.front()),
                EWOULDBLOCK);
  return {};
}

Status WorkFolder::name_one(const std::string& name) {
  if (is_there(new_.get(), name)) BENTO_TRY(move(new_.get(), folder_.get(), name, path_));
  return sync(folder_.get(), path_);
}

bool WorkFolder::has_begun() const {
  return std::ranges::any_of(names_,
                             [&](const Stamped& one) { return !is_there(new_.get(), one.name); });
}

bool WorkFolder::is_ours(const Stamped& one) const {
  return !one.stamp.empty() && stamp_of(folder_.get(), one.name) == one.stamp;
}

// All old ones go aside before the first new one gets its name.
std::vector<std::string> WorkFolder::put_by_others() const {
  const bool begun = has_begun();
  std::vector<std::string> others;
  for (const auto& one : names_) {
    if (!is_there(folder_.get(), one.name)) continue;
    if (!is_there(new_.get(), one.name) && is_ours(one)) continue;
    if (begun || is_there(old_.get(), one.name)) others.push_back(one.name);
  }
  return others;
}

Status WorkFolder::check_named() const {
  if (const auto others = put_by_others(); !others.empty())
    return fail(Code::kExists,
                fmt::format("'{}/{}' was written anew by somebody else while '{}' was half named: "
                            "it stays. To replace it all the same, submit it again",
                            path_, others.front(), names_.front().name));
  for (const auto& [name, stamp] : names_)
    if (!is_there(new_.get(), name) && !is_there(folder_.get(), name))
      return fail(Code::kNotFound,
                  fmt::format("'{}/{}' was removed by somebody else while '{}' was half named; "
                              "submit it again",
                              path_, name, names_.front().name));
  return {};
}

Status WorkFolder::set_permissions(int copy, const std::string& name, const std::string& first,
                                   unsigned mode) const {
  if (::fchmod(copy, mode) != 0)
    return fail(os_error(errno, "setting the mode of", copy_path(name)));
  take_permissions_of(folder_.get(), first, copy);
  return {};
}

Status WorkFolder::give_name(int from, const std::string& name) {
  if (is_there(folder_.get(), name))
    return fail(Code::kExists, fmt::format("'{}/{}' was put there by somebody else in this moment: "
                                           "it stays. To replace it all the same, submit it again",
                                           path_, name));
  return move(from, folder_.get(), name, path_);
}

Status WorkFolder::name_several(const std::vector<std::string>& names) {
  for (const auto& name : names)
    if (is_there(new_.get(), name) && is_there(folder_.get(), name))
      BENTO_TRY(move(folder_.get(), old_.get(), name, path_));
  BENTO_TRY(sync(folder_.get(), path_));
  for (std::size_t i = names.size(); i-- > 0;) {
    // The master's name must not be there before the others' are, not even after a loss of power.
    if (i == 0) BENTO_TRY(sync(folder_.get(), path_));
    if (is_there(new_.get(), names[i])) BENTO_TRY(give_name(new_.get(), names[i]));
  }
  return sync(folder_.get(), path_);
}

// A container that was created anew has taken the place of the old one. A part alone has not: then
// the old one cannot be given back whole, and is kept.
Status WorkFolder::put_back() {
  const auto others = put_by_others();
  const bool replaced = !others.empty() && others.front() == names_.front().name;
  if (!others.empty() && !replaced)
    return fail(Code::kExists,
                fmt::format("'{}/{}' was put there by somebody else while '{}' was half named, so "
                            "that the old container cannot get its names back: it is in "
                            "'{}/{}/old'. Move that file away, or the old ones",
                            path_, others.front(), names_.front().name, path_, name_));
  for (const auto& one : names_)
    if (!is_there(new_.get(), one.name) && is_ours(one))
      BENTO_TRY(move(folder_.get(), new_.get(), one.name, path_));
  if (replaced) return remove_files(old_.get(), path_ + "/" + name_ + "/old");
  for (std::size_t i = names_.size(); i-- > 0;)
    if (is_there(old_.get(), names_[i].name)) BENTO_TRY(give_name(old_.get(), names_[i].name));
  return sync(folder_.get(), path_);
}

// A program may have written to the old container since they were noted.
Status WorkFolder::note_outdated() {
  if (names_.empty() || has_begun() || is_there(old_.get(), names_.front().name)) return {};
  Stamps now = outdated_;
  for (auto& [name, stamp] : now) stamp = stamp_of(folder_.get(), name);
  if (now == outdated_) return {};
  BENTO_TRY(write_complete(complete_, names_, now));
  outdated_ = std::move(now);
  return {};
}

Status WorkFolder::name_all(const std::vector<std::string>& names) {
  if (!all_named(names)) {
    BENTO_TRY(check_places(names));
    BENTO_TRY(note_outdated());
    if (names.size() == 1) {
      BENTO_TRY(name_one(names.front()));
    } else {
      BENTO_TRY(check_named());
      if (auto named = name_several(names); !named) {
        (void)put_back();
        return named;
      }
    }
  }
  for (const auto& one : outdated_)
    if (is_ours(one) && ::unlinkat(folder_.get(), one.name.c_str(), 0) != 0 && errno != ENOENT)
      return fail(os_error(errno, "removal of the outdated", path_ + "/" + one.name));
  BENTO_TRY(remove_files(old_.get(), path_ + "/" + name_ + "/old"));
  return sync(folder_.get(), path_);
}

Status WorkFolder::take_back() {
  if (complete_.empty() || names_.empty()) return {};
  const bool all = std::ranges::none_of(
      names_, [&](const Stamped& one) { return is_there(new_.get(), one.name); });
  // What they have replaced is not to come back, even if they were removed since.
  return all ? remove_files(old_.get(), path_ + "/" + name_ + "/old") : put_back();
}

Status WorkFolder::discard() {
  BENTO_TRY(take_back());
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
  BENTO_TRY(take_back());
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
