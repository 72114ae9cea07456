// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "transfer/gated_files.hpp"
#include "transfer/job.hpp"

namespace bento::transfer {
namespace {

/// Errors name the file as people find it.
Error readable(Error error, const std::string& at, const std::string& shown) {
  for (std::size_t where = 0; (where = error.text.find(at, where)) != std::string::npos;
       where += shown.size())
    error.text.replace(where, at.size(), shown);
  return error;
}

/// WRITTEN of all sources together, in the order in which a copy would fill them. All of it is
/// reported only when it has its name.
void share_out(std::vector<Entry>& entries, std::uint64_t done, std::uint64_t total) {
  const double share =
      total > 0 ? std::min(static_cast<double>(done) / static_cast<double>(total), 1.0) : 0;
  double left = 0;
  for (const auto& entry : entries) left += static_cast<double>(entry.size) * share;
  for (std::size_t index = entries.size(); index-- > 0;) {
    Entry& entry = entries[index];
    const double mine = std::min(left, static_cast<double>(entry.size));
    left -= mine;
    entry.written = entry.size > 0 ? std::min(static_cast<std::uint64_t>(mine), entry.size - 1) : 0;
    entry.problem.clear();
  }
}

}  // namespace

Result<JobEnd> Job::assemble(const Source& source, WorkFolder& work, Gate& gate,
                             const Report& report) {
  const Entry& master = entries_.front();
  if (!options_.assemble)
    return fail(Code::kUnsupported,
                fmt::format("'{}' cannot arrive as {}: this program was built without HDF5",
                            master.source, master.arrive));
  BENTO_ASSIGN(const Arrive arrive, arrive_of(master.arrive));
  BENTO_TRY(check_can_arrive(master.source, arrive));
  BENTO_TRY(work.discard());
  for (std::size_t index = 0; index < entries_.size(); ++index) {
    entries_[index].size = source.size(index);
    entries_[index].written = 0;
  }
  entries_.front().root = source.state_text();
  BENTO_ASSIGN(const bool wanted, report(entries_));
  if (!wanted) return JobEnd::kGone;
  BENTO_ASSIGN(const JobEnd made, assemble_whole(arrive, source, work, gate, report));
  if (made != JobEnd::kStopped) return made;
  // The next one begins anew; what is there so far would be in its way, and takes space.
  BENTO_TRY(begin_anew(work, source, report));
  return made;
}

Result<JobEnd> Job::assemble_whole(Arrive arrive, const Source& source, WorkFolder& work,
                                   Gate& gate, const Report& report) {
  const std::string name = names().front();
  const std::string at = work.open_path(name);
  bool gone = false;
  Status changed;
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  GatedFiles files(gate, [&]() -> Result<bool> {
    share_out(entries_, done, total);
    BENTO_ASSIGN(const bool wanted, report(entries_));
    gone = !wanted;
    changed = source.unchanged();
    return wanted && changed.has_value();
  });
  if (arrive == Arrive::kNative) {
    BENTO_TRY(work.open_copy(name));
  }
  Assembly assembly{arrive, entries_.front().source, at, name, files.opener(), {}};
  assembly.progress = [&](std::uint64_t now, std::uint64_t of) {
    done = now;
    total = of;
  };
  Status made = options_.assemble(assembly);
  if (gone) return JobEnd::kGone;
  if (changed) changed = source.unchanged();
  if (changed && files.stopped()) return JobEnd::kStopped;
  if (made && files.failure()) made = fail(*files.failure());
  if (made && changed) {
    BENTO_ASSIGN(const Descriptor target, work.open_copy(name));
    if (::fchmod(target.get(), source.mode(0)) != 0)
      return fail(os_error(errno, "setting the mode of", work.copy_path(name)));
    BENTO_TRY(sync(target.get(), work.copy_path(name)));
    return JobEnd::kDone;
  }
  BENTO_TRY(begin_anew(work, source, report));
  if (!changed) return fail(std::move(changed).error());
  // What the file said is what may be tried again; HDF5 hands on less.
  Error why = files.failure() ? *files.failure() : made.error();
  return fail(readable(std::move(why), at, work.copy_path(name)));
}

}  // namespace bento::transfer
