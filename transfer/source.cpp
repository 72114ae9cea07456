// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/source.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "core/base/hex.hpp"
#include "core/io/file.hpp"
#include "core/io/file_lock.hpp"
#include "core/layout/plan.hpp"

namespace bento::transfer {
namespace {

/// Times of files advance in steps of up to 10 ms: two writes within one step look like one.
constexpr std::chrono::milliseconds kTimeStep(20);

std::int64_t ns_of(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Error changed(const std::string& path, const std::string& how) {
  return Error{Code::kBusy, fmt::format("source '{}' {} while it was copied", path, how), EBUSY};
}

Status check_not_written(const std::string& path) {
  BENTO_ASSIGN(const auto file, open_posix_file(path, OpenMode::kRead));
  if (is_locked(*file))
    return fail(Code::kBusy, fmt::format("a program writes to the source '{}'", path), EBUSY);
  return {};
}

}  // namespace

std::string text_of(const FileId& id) {
  return hex(id);
}

std::string ContainerState::text() const {
  return fmt::format("{}{}-{}-{}-{}", text_of(file_id), text_of(session), sequence, step,
                     closed ? "closed" : "open");
}

Result<std::optional<ContainerState>> look_at_container(const std::string& path) {
  struct stat about{};
  if (::stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode))
    return fail(Code::kInvalidArgument, fmt::format("'{}' is no regular file", path));
  BENTO_ASSIGN(const auto file, open_posix_file(path, OpenMode::kRead));
  BENTO_ASSIGN(const Probe seen, probe(*file));
  if (seen.kind != FileKind::kContainer) return std::optional<ContainerState>();
  ContainerState state;
  state.file_id = seen.root.file_id;
  state.session = seen.root.session;
  state.sequence = seen.root.sequence;
  state.files = seen.root.files();
  state.step = seen.root.step;
  state.oldest = seen.root.oldest;
  state.closed = (seen.root.flags & kRootClosed) != 0;
  return std::optional<ContainerState>(state);
}

Result<std::vector<std::string>> physical_files(const std::string& path) {
  BENTO_ASSIGN(const auto state, look_at_container(path));
  const std::uint32_t count = state ? state->files : 1;
  std::vector<std::string> all{path};
  for (std::uint32_t index = 1; index < count; ++index) {
    all.push_back(physical_name(path, index));
    struct stat about{};
    if (::stat(all.back().c_str(), &about) != 0)
      return fail(os_error(errno, fmt::format("looking for physical file {} of '{}',", index, path),
                           all.back()));
  }
  return all;
}

Result<Source::OneFile> Source::open_one(const std::string& path) {
  OneFile one;
  one.path = path;
  BENTO_ASSIGN(one.fd, open_at(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, path));
  struct stat about{};
  if (::fstat(one.fd.get(), &about) != 0) return fail(os_error(errno, "fstat of", path));
  if (!S_ISREG(about.st_mode))
    return fail(Code::kInvalidArgument, fmt::format("source '{}' is no regular file", path));
  one.device = about.st_dev;
  one.inode = about.st_ino;
  one.size = static_cast<std::uint64_t>(about.st_size);
  one.modified_ns = ns_of(about.st_mtim);
  one.mode = about.st_mode & 0777;
  return one;
}

Result<Source> Source::open(const std::vector<std::string>& paths, bool container) {
  Source source;
  std::int64_t newest = 0;
  for (const auto& path : paths) {
    BENTO_ASSIGN(OneFile one, open_one(path));
    newest = std::max(newest, one.modified_ns);
    source.files_.push_back(std::move(one));
  }
  const std::int64_t age = now_ns() - newest;
  // Of another node's clock, which may be ahead of ours.
  if (age < std::chrono::nanoseconds(kTimeStep).count()) std::this_thread::sleep_for(kTimeStep);
  if (container) {
    BENTO_TRY(check_not_written(paths.front()));
    BENTO_ASSIGN(source.container_, look_at_container(paths.front()));
    if (!source.container_)
      return fail(Code::kNotFound,
                  fmt::format("source '{}' was a container, and is none now", paths.front()));
    if (source.container_->files != paths.size())
      return fail(Code::kInvalidArgument,
                  fmt::format("source '{}' has {} physical files now, {} were submitted; submit it "
                              "again",
                              paths.front(), source.container_->files, paths.size()));
  }
  return source;
}

std::string Source::OneFile::stamp() const {
  return fmt::format("{}:{}:{}", inode, size, modified_ns);
}

std::string Source::stamp_of(const std::string& path) {
  const auto one = open_one(path);
  return one ? one->stamp() : std::string{};
}

std::string Source::files_text() const {
  std::string all;
  for (const auto& one : files_) all += " " + one.stamp();
  return all;
}

Status Source::check_is_none_of(int folder, const std::vector<std::string>& names) const {
  for (const auto& name : names) {
    struct stat about{};
    if (::fstatat(folder, name.c_str(), &about, 0) != 0) continue;
    for (const auto& one : files_)
      if (about.st_dev == one.device && about.st_ino == one.inode)
        return fail(Code::kInvalidArgument,
                    fmt::format("source '{}' has the name '{}' at the destination already: it "
                                "would be replaced by its own copy",
                                one.path, name));
  }
  return {};
}

Status Source::unchanged() const {
  for (const auto& one : files_) {
    struct stat about{};
    if (::stat(one.path.c_str(), &about) != 0) {
      if (errno == ENOENT) return fail(os_error(errno, "copying the source", one.path));
      return fail(os_error(errno, "stat of", one.path));
    }
    if (about.st_dev != one.device || about.st_ino != one.inode)
      return fail(changed(one.path, "was replaced"));
    if (static_cast<std::uint64_t>(about.st_size) != one.size ||
        ns_of(about.st_mtim) != one.modified_ns)
      return fail(changed(one.path, "was written to"));
  }
  if (!container_) return {};
  const std::string& master = files_.front().path;
  BENTO_TRY(check_not_written(master));
  BENTO_ASSIGN(const auto now, look_at_container(master));
  if (now != container_) return fail(changed(master, "got another root"));
  return {};
}

}  // namespace bento::transfer
