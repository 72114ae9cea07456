// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/kvtree_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include <fmt/format.h>

#include "core/io/host.hpp"

namespace bento::transfer {
namespace {

using Clock = std::chrono::steady_clock;

std::string next_of(const std::string& path) {
  return path + ".next";
}

Status lock(int fd, const std::string& path, int how, Clock::time_point until) {
  std::chrono::microseconds pause(500);
  while (::flock(fd, how | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return fail(os_error(errno, "lock of", path));
    if (Clock::now() >= until)
      return fail(Code::kBusy,
                  fmt::format("'{}' is locked by another program, and was not free in time", path),
                  EWOULDBLOCK);
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(10'000));
  }
  return {};
}

Result<Descriptor> open_locked(const std::string& path, int flags, int how,
                               Clock::time_point until) {
  for (;;) {
    BENTO_ASSIGN(Descriptor file, open_at(AT_FDCWD, path, flags | O_NONBLOCK, 0666, path));
    BENTO_TRY(lock(file.get(), path, how, until));
    // SCR's library deletes the file at its start; a lock on a deleted file keeps nobody out.
    if (leads_to(path, file.get())) return file;
    if (Clock::now() >= until)
      return fail(Code::kBusy, fmt::format("'{}' is deleted and made anew all the time", path));
  }
}

struct Content {
  KvTree tree;
  std::vector<std::byte> bytes;
};

Result<Content> content_of(int fd, const std::string& path) {
  Content content;
  BENTO_ASSIGN(content.bytes, read_whole(fd, kMaxKvBytes, path));
  auto tree = decode_kvtree(content.bytes);
  if (!tree) return fail(std::move(tree).error().with_context(fmt::format("'{}'", path)));
  content.tree = std::move(*tree);
  return content;
}

/// The copy beside a torn file. An empty one says nothing.
Result<Content> next_content(const std::string& path, const Error& torn) {
  const std::string next = next_of(path);
  auto file = open_at(AT_FDCWD, next, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, next);
  std::string why = file ? "it is empty" : "there is none";
  if (file) {
    auto content = content_of(file->get(), next);
    if (content && !content->bytes.empty()) return content;
    if (!content) why = content.error().text;
  }
  return fail(
      Code::kCorrupt,
      fmt::format("{}; '{}' does not mend it: {}. Remove the file to begin with an empty one",
                  torn.text, next, why));
}

}  // namespace

Result<LockedKvFile> LockedKvFile::open(const std::string& path, std::chrono::milliseconds wait) {
  BENTO_ASSIGN(Descriptor file, open_locked(path, O_RDWR | O_CREAT, LOCK_EX, Clock::now() + wait));
  LockedKvFile opened(std::move(file), path);
  BENTO_TRY(opened.load());
  return opened;
}

Status LockedKvFile::load() {
  auto content = content_of(file_.get(), path_);
  const std::string next = next_of(path_);
  if (!content && content.error().code == Code::kCorrupt) {
    BENTO_ASSIGN(Content whole, next_content(path_, content.error()));
    BENTO_TRY(write_in_place(whole.bytes));
    content = std::move(whole);
  }
  if (!content) return fail(std::move(content).error());
  tree_ = std::move(content->tree);
  stored_ = std::move(content->bytes);
  // Else it would one day mend a file that another program has torn, with what is long outdated.
  if (::unlink(next.c_str()) != 0 && errno != ENOENT)
    return fail(os_error(errno, "removal of", next));
  return {};
}

Status LockedKvFile::write_in_place(std::span<const std::byte> bytes) {
  BENTO_TRY(write_whole(file_.get(), 0, bytes, path_));
  // What lies behind the length in the header does not count, so this may come later.
  if (::ftruncate(file_.get(), static_cast<off_t>(bytes.size())) != 0)
    return fail(os_error(errno, "truncation of", path_));
  return sync(file_.get(), path_);
}

Status LockedKvFile::store() {
  BENTO_ASSIGN(std::vector<std::byte> bytes, encode_kvtree(tree_));
  if (bytes == stored_) return {};
  // Room for it before anything is written: on a full disk the file stays as it is.
  if (::fallocate(file_.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes.size())) != 0 &&
      (errno == ENOSPC || errno == EDQUOT))
    return fail(os_error(errno, "making room in", path_));
  const std::string next = next_of(path_);
  {
    BENTO_ASSIGN(const Descriptor copy,
                 open_at(AT_FDCWD, next, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0666, next));
    auto written = write_whole(copy.get(), 0, bytes, next);
    if (written) written = sync(copy.get(), next);
    if (!written) {
      ::unlink(next.c_str());
      return written;
    }
  }
  const std::string folder = folder_of(path_);
  BENTO_ASSIGN(const Descriptor names,
               open_at(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, 0, folder));
  BENTO_TRY(sync(names.get(), folder));
  BENTO_TRY(write_in_place(bytes));
  stored_ = std::move(bytes);
  if (::unlink(next.c_str()) != 0 && errno != ENOENT)
    return fail(os_error(errno, "removal of", next));
  return {};
}

Status update_kvfile(const std::string& path, const std::function<Status(KvTree&)>& change) {
  BENTO_ASSIGN(LockedKvFile file, LockedKvFile::open(path));
  BENTO_TRY(change(file.tree()));
  return file.store();
}

Result<KvTree> read_kvfile(const std::string& path) {
  const auto until = Clock::now() + kLockWait;
  BENTO_ASSIGN(Descriptor file, open_locked(path, O_RDONLY, LOCK_SH, until));
  auto content = content_of(file.get(), path);
  if (content) return std::move(content->tree);
  if (content.error().code != Code::kCorrupt) return fail(std::move(content).error());
  file.close();
  if (auto mended = LockedKvFile::open(path)) return std::move(mended->tree());
  BENTO_ASSIGN(Content whole, next_content(path, content.error()));
  return std::move(whole.tree);
}

}  // namespace bento::transfer
