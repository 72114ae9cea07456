// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/joined/joined_report.hpp"

#include <cerrno>

#include <fmt/format.h>

#include "core/io/file_lock.hpp"
#include "core/joined/join_locks.hpp"
#include "core/joined/joined_files.hpp"
#include "core/joined/joined_place.hpp"

namespace bento {

namespace {

Result<JoinedFiles> load(const std::string& path, bool writable) {
  BENTO_ASSIGN(auto first,
               open_posix_file(path, writable ? OpenMode::kReadWrite : OpenMode::kRead));
  BENTO_ASSIGN(const JoinedState state, joined_state(*first));
  if (state == JoinedState::kNothing)
    return fail(Code::kNotFound,
                fmt::format("'{}' holds no streams: the process that made it was ended before "
                            "anybody could use it (errno = {})",
                            path, ENOENT),
                ENOENT);
  return JoinedFiles::load(std::move(first), writable);
}

Result<JoinedReport> report_of(JoinedFiles& files) {
  JoinedReport report;
  report.tasks = files.tasks();
  report.files = files.plan().files();
  report.chunk_bytes = files.plan().file(0).chunk_bytes;
  BENTO_ASSIGN(report.job, files.job());
  BENTO_ASSIGN(report.finished, files.finished(0));
  report.in_use = is_locked(files.first());
  if (report.finished && !report.in_use)
    for (std::uint32_t index = 1; index < report.files; ++index)
      if (const auto file = files.file(index); !file) report.problems.push_back(file.error().text);
  BENTO_ASSIGN(report.view, files.view_of(0));
  BENTO_TRY(files.visit([&](const Slot& slot) {
    if (slot.used())
      report.streams.push_back(
          {slot.name, slot.task, slot.rank, slot.length(), (slot.flags & kSlotWriting) != 0});
    return true;
  }));
  return report;
}

}  // namespace

bool is_joined_container(const std::string& path) {
  const auto first = open_posix_file(path, OpenMode::kRead);
  if (!first) return false;
  const auto seen = probe(**first);
  return seen && seen->kind == FileKind::kContainer && (seen->root.flags & kRootJoined) != 0;
}

Result<JoinedFiles> open_joined(const std::string& path) {
  return load(path, false);
}

namespace {

Status check_streams(JoinedFiles& files, std::vector<std::string>& problems) {
  return files.visit([&](const Slot& slot) {
    if (!slot.used()) return true;
    if ((slot.flags & kSlotWriting) != 0 && !is_locked(files.first()))
      problems.push_back(
          fmt::format("'{}' (task {}) is cut off: its process was ended while it "
                      "wrote it",
                      slot.name, slot.task));
    if (slot.length() == 0) return true;
    const JoinedPlace place(files, slot.task);
    std::byte last{};
    if (auto read = place.read(slot.length(), slot.length() - 1, {&last, 1}); !read)
      problems.push_back(
          fmt::format("'{}' (task {}): {}", slot.name, slot.task, read.error().text));
    return true;
  });
}

Status check_file(JoinedFiles& files, std::uint32_t index, std::vector<std::string>& problems) {
  BENTO_ASSIGN(File* const file, files.file(index));
  BENTO_ASSIGN(const JoinedHeader header,
               read_joined_header(*file, files.plan().file(index), files.layout()));
  BENTO_ASSIGN(const std::uint64_t bytes, file->size());
  if (bytes != header.length)
    problems.push_back(
        fmt::format("'{}' has {} bytes, its header says {}", file->path(), bytes, header.length));
  BENTO_ASSIGN(const bool finished, files.finished(index));
  if (!finished && !is_locked(files.first()))
    problems.push_back(fmt::format("'{}' was not finished: SION readers refuse it", file->path()));
  BENTO_ASSIGN(const JoinedView view, files.view_of(index));
  if (view == JoinedView::kEdited)
    problems.push_back(
        fmt::format("'{}' was changed by a program without the driver", file->path()));
  return {};
}

}  // namespace

Result<std::vector<std::string>> check_joined(const std::string& path) {
  BENTO_ASSIGN(JoinedFiles files, load(path, false));
  std::vector<std::string> problems;
  for (std::uint32_t index = 0; index < files.plan().files(); ++index)
    if (auto done = check_file(files, index, problems); !done)
      problems.push_back(std::move(done).error().text);
  if (auto done = check_streams(files, problems); !done)
    problems.push_back(std::move(done).error().text);
  return problems;
}

Result<JoinedReport> inspect_joined(const std::string& path) {
  BENTO_ASSIGN(JoinedFiles files, load(path, false));
  return report_of(files);
}

Status alone_with_joined(const std::string& path, double timeout, const JoinedWork& work) {
  BENTO_ASSIGN(const auto named, open_posix_file(path, OpenMode::kReadWrite));
  BENTO_ASSIGN(JoinLocks locks, JoinLocks::of(*named, true));
  // Whoever joins, leaves or lays out waits until the locks end with this function.
  BENTO_TRY(locks.enter_gate(JoinLocks::Kind::kExclusive, timeout));
  BENTO_ASSIGN(const bool flocked, locks.try_flock());
  BENTO_ASSIGN(const bool used, locks.others_write());
  if (used || !flocked)
    return fail(
        Code::kBusy,
        fmt::format("'{}' is open for writing in another program (errno = {})", path, EAGAIN),
        EAGAIN);
  BENTO_ASSIGN(JoinedFiles files, load(path, true));
  return work(files);
}

Result<JoinedReport> repair_joined(const std::string& path, double timeout,
                                   const JoinedWork& then) {
  JoinedReport report;
  BENTO_TRY(alone_with_joined(path, timeout, [&](JoinedFiles& files) -> Status {
    for (std::uint32_t index = 0; index < files.plan().files(); ++index)
      BENTO_TRY(files.restore(index));
    BENTO_TRY(files.finish());
    if (then) BENTO_TRY(then(files));
    BENTO_ASSIGN(report, report_of(files));
    return {};
  }));
  return report;
}

}  // namespace bento
