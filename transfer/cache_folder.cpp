// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/cache_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <span>
#include <thread>

#include <fmt/format.h>

#include "core/base/hash.hpp"
#include "core/base/hex.hpp"
#include "core/io/file_lock.hpp"
#include "core/io/host.hpp"
#include "core/layout/root.hpp"
#include "transfer/share.hpp"
#include "transfer/spill.hpp"

namespace bento::transfer {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
constexpr std::uint64_t kMostNameBytes = 64u << 10;
constexpr const char* kPrefix = "h5bento-";

std::string folder_name(const std::string& final_name) {
  return kPrefix + hex(hash128(std::as_bytes(std::span(final_name))));
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  DIR* const stream = ::opendir(folder.c_str());
  if (stream == nullptr) return names;
  while (const dirent* const one = ::readdir(stream)) {
    const std::string name = one->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  ::closedir(stream);
  return names;
}

std::uint64_t number_of(const std::string& name) {
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
  return problem == std::errc{} && end == name.data() + name.size() ? number : 0;
}

std::string read_text(const std::string& path) {
  const auto file = open_at(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, path);
  if (!file) return {};
  const auto bytes = read_whole(file->get(), kMostNameBytes, path);
  if (!bytes) return {};
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

/// All of it or nothing.
Status write_text(const std::string& path, const std::string& text) {
  const std::string next = path + ".next";
  const auto write = [&]() -> Status {
    BENTO_ASSIGN(const Descriptor file,
                 open_at(AT_FDCWD, next, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600, next));
    BENTO_TRY(write_whole(file.get(), 0, std::as_bytes(std::span(text)), next));
    if (::rename(next.c_str(), path.c_str()) != 0) return fail(os_error(errno, "rename to", path));
    return {};
  };
  auto written = write();
  if (!written) ::unlink(next.c_str());
  return written;
}

Status make_folder(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return {};
  return fail(os_error(errno, "making the folder", path));
}

/// In a folder that anybody may write to, a name may be somebody else's, or lead elsewhere.
Result<Descriptor> open_own(const std::string& path) {
  BENTO_ASSIGN(Descriptor folder, open_at(AT_FDCWD, path, kFolder, 0, path));
  struct stat about{};
  if (::fstat(folder.get(), &about) != 0) return fail(os_error(errno, "fstat of", path));
  if (about.st_uid != ::geteuid())
    return fail(Code::kPermission,
                fmt::format("'{}' belongs to user {}, not to this one; give each user a cache= of "
                            "their own",
                            path, about.st_uid),
                EPERM);
  return folder;
}

}  // namespace

CopyState state_of_copy(const std::string& path) {
  const auto file = open_posix_file(root_file_of_copy(path), OpenMode::kRead);
  if (!file) return CopyState::kNothing;
  if (is_locked(**file)) return CopyState::kWritten;
  const auto seen = probe(**file);
  const bool committed =
      seen && seen->kind == FileKind::kContainer && (seen->root.flags & kRootProvisional) == 0;
  return committed ? CopyState::kCommitted : CopyState::kNothing;
}

std::uint64_t number_of_copy(const std::string& copy) {
  return number_of(base_of(folder_of(copy)));
}

std::string id_of_copy(const std::string& copy) {
  return read_text(folder_of(copy) + "/id");
}

std::string copy_with_id(const std::string& cache, const std::string& final_name,
                         const std::string& id) {
  const std::string folder = cache + "/" + folder_name(final_name);
  for (const auto& name : names_in(folder)) {
    if (number_of(name) == 0) continue;
    std::string copy = fmt::format("{}/{}/{}", folder, name, base_of(final_name));
    if (id_of_copy(copy) == id) return copy;
  }
  return {};
}

Result<CacheFolder> CacheFolder::open_locked(const std::string& path,
                                             std::chrono::milliseconds wait) {
  CacheFolder opened;
  opened.path_ = path;
  BENTO_ASSIGN(opened.folder_, open_own(path));
  const std::string name = path + "/lock";
  const auto until = Clock::now() + wait;
  for (;;) {
    BENTO_ASSIGN(opened.lock_, open_at(AT_FDCWD, name, O_RDWR | O_CREAT | O_NOFOLLOW, 0600, name));
    while (::flock(opened.lock_.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK) return fail(os_error(errno, "lock of", name));
      if (Clock::now() >= until)
        return fail(Code::kBusy, fmt::format("'{}' is in use by another program", path),
                    EWOULDBLOCK);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    if (leads_to(name, opened.lock_.get())) break;
  }
  opened.final_ = read_text(path + "/final");
  return opened;
}

Result<CacheFolder> CacheFolder::make(const std::string& cache, const std::string& final_name) {
  const std::string path = cache + "/" + folder_name(final_name);
  constexpr int kTries = 100;
  for (int tries = 0; tries < kTries; ++tries) {
    BENTO_TRY(make_folder(cache, 0777));
    BENTO_TRY(make_folder(path, 0700));
    auto folder = open_locked(path, std::chrono::seconds(60));
    // Whoever evicts removes the folder with its last copy.
    if (!folder && folder.error().code == Code::kNotFound) continue;
    if (!folder) return folder;
    if (folder->final_.empty()) {
      BENTO_TRY(write_text(path + "/final", final_name));
      folder->final_ = final_name;
    }
    if (folder->final_ != final_name)
      return fail(Code::kExists,
                  fmt::format("'{}' belongs to '{}', not to '{}': use another cache=", path,
                              folder->final_, final_name));
    return folder;
  }
  return fail(Code::kBusy, fmt::format("'{}' is made and removed again and again", path));
}

Result<std::optional<CacheFolder>> CacheFolder::of_copy(const std::string& copy,
                                                        std::chrono::milliseconds wait) {
  const std::string path = folder_of(folder_of(copy));
  if (!base_of(path).starts_with(kPrefix) || number_of_copy(copy) == 0)
    return std::optional<CacheFolder>();
  auto folder = open_locked(path, wait);
  if (!folder && folder.error().code == Code::kNotFound) return std::optional<CacheFolder>();
  if (!folder) return fail(folder.error());
  return std::optional<CacheFolder>(std::move(*folder));
}

bool CacheFolder::keeps(const std::string& name) {
  constexpr std::array kOurs = {"id",      "share",        "spilled",    "arrived",
                                "id.next", "arrived.next", "superseded", "superseded.next"};
  return std::ranges::find(kOurs, name) != kOurs.end();
}

std::vector<std::uint64_t> CacheFolder::copies() const {
  std::vector<std::uint64_t> numbers;
  for (const auto& name : names_in(path_))
    if (const std::uint64_t number = number_of(name); number > 0) numbers.push_back(number);
  std::ranges::sort(numbers, std::greater());
  return numbers;
}

std::string CacheFolder::copy(std::uint64_t number) const {
  return fmt::format("{}/{}/{}", path_, number, base_of(final_));
}

Result<std::string> CacheFolder::add(const std::string& id) {
  const auto numbers = copies();
  const std::uint64_t number = numbers.empty() ? 1 : numbers.front() + 1;
  const std::string folder = fmt::format("{}/{}", path_, number);
  BENTO_TRY(make_folder(folder, 0700));
  auto written = write_text(folder + "/id", id);
  if (written) written = prepare_spill(copy(number));
  if (!written) {
    (void)remove(number);
    return fail(written.error());
  }
  return copy(number);
}

Status CacheFolder::remove(std::uint64_t number) {
  remove_spill(copy(number), final_);
  const std::string folder = fmt::format("{}/{}", path_, number);
  // The container's first file last: as long as it is there, somebody can find the others.
  auto names = names_in(folder);
  std::ranges::sort(names, std::greater());
  for (const auto& name : names)
    if (::unlink((folder + "/" + name).c_str()) != 0 && errno != ENOENT)
      return fail(os_error(errno, "removal from the cache of", folder + "/" + name));
  if (::rmdir(folder.c_str()) != 0 && errno != ENOENT)
    return fail(os_error(errno, "removal from the cache of", folder));
  return {};
}

void CacheFolder::remove_if_empty() {
  if (!copies().empty()) return;
  for (const char* const name : {"/final", "/lock"}) ::unlink((path_ + name).c_str());
  ::rmdir(path_.c_str());
}

Status CacheFolder::remove_unfinished() {
  for (const std::uint64_t number : copies())
    if (state_of_copy(copy(number)) == CopyState::kNothing) BENTO_TRY(remove(number));
  return {};
}

Status CacheFolder::remove_older(const std::string& copy) {
  const bool all = share_of_copy(copy).count > 0;
  for (const std::uint64_t number : copies()) {
    const std::string folder = fmt::format("{}/{}/", path_, number);
    const bool outdated = all || ::access((folder + "superseded").c_str(), F_OK) == 0 ||
                          ::access((folder + "arrived").c_str(), F_OK) == 0;
    if (number < number_of_copy(copy) && outdated) BENTO_TRY(remove(number));
  }
  return {};
}

Status CacheFolder::set_superseded(const std::string& copy) {
  return write_text(folder_of(copy) + "/superseded", "");
}

Status CacheFolder::set_arrived(const std::string& copy) {
  return write_text(folder_of(copy) + "/arrived", "");
}

void remove_abandoned(const std::string& cache) {
  for (const auto& name : names_in(cache)) {
    const std::string folder = cache + "/" + name;
    if (!name.starts_with(kPrefix)) continue;
    auto other = CacheFolder::of_copy(folder + "/1/x", std::chrono::milliseconds(0));
    if (!other || !*other || !(*other)->remove_unfinished()) continue;
    (*other)->remove_if_empty();
  }
}

Status keep_arrived(CacheFolder& held, std::uint64_t keep) {
  struct Arrived {
    std::int64_t when = 0;
    std::string folder;
    std::uint64_t number = 0;
  };
  std::vector<Arrived> all;
  const std::string cache = folder_of(held.path());
  for (const auto& name : names_in(cache)) {
    if (!name.starts_with(kPrefix)) continue;
    const std::string folder = cache + "/" + name;
    for (const auto& one : names_in(folder)) {
      struct stat about{};
      if (number_of(one) == 0 || ::stat((folder + "/" + one + "/arrived").c_str(), &about) != 0)
        continue;
      all.push_back({std::int64_t{about.st_mtim.tv_sec} * 1'000'000'000 + about.st_mtim.tv_nsec,
                     folder, number_of(one)});
    }
  }
  std::ranges::sort(all, std::greater(), &Arrived::when);
  Status done;
  for (std::size_t i = keep; i < all.size(); ++i) {
    const auto drop = [&](CacheFolder& folder) -> Status {
      if (state_of_copy(folder.copy(all[i].number)) == CopyState::kWritten) return {};
      return folder.remove(all[i].number);
    };
    if (all[i].folder == held.path()) {
      if (auto dropped = drop(held); done) done = std::move(dropped);
      continue;
    }
    auto other = CacheFolder::of_copy(fmt::format("{}/{}/x", all[i].folder, all[i].number),
                                      std::chrono::milliseconds(0));
    if (!other || !*other) continue;
    if (auto dropped = drop(**other); done) done = std::move(dropped);
    (*other)->remove_if_empty();
  }
  return done;
}

}  // namespace bento::transfer
