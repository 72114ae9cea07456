// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/joined/joined_report.hpp"

#include <cerrno>

#include <fmt/format.h>

#include "core/io/file_lock.hpp"
#include "core/joined/join_locks.hpp"
#include "core/joined/joined_files.hpp"

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
  BENTO_TRY(files.visit([&](const Slot& slot) {
    if (slot.used())
      report.streams.push_back(
          {slot.name, slot.task, slot.rank, slot.length(), (slot.flags & kSlotWriting) != 0});
    return true;
  }));
  return report;
}

}  // namespace

Result<JoinedReport> inspect_joined(const std::string& path) {
  BENTO_ASSIGN(JoinedFiles files, load(path, false));
  return report_of(files);
}

Result<JoinedReport> repair_joined(const std::string& path, double timeout) {
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
  for (std::uint32_t index = 0; index < files.plan().files(); ++index)
    BENTO_TRY(files.restore(index));
  BENTO_TRY(files.finish());
  return report_of(files);
}

}  // namespace bento
