// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/job.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "core/layout/identity.hpp"
#include "core/layout/plan.hpp"
#include "transfer/arrival.hpp"
#include "transfer/outdated_parts.hpp"
#include "transfer/parts_folder.hpp"
#include "transfer/settle.hpp"
#include "transfer/sparse_copy.hpp"
#include "transfer/spill.hpp"

namespace bento::transfer {
namespace {

/// Between the last look at a source and its removal a program may write the next one there: the
/// name of the destination may have had to wait for somebody.
Status remove_sources(const std::vector<Entry>& entries) {
  for (const auto& entry : entries) {
    if (!entry.evict || entry.cached) return {};
    if (const std::string now = Source::stamp_of(entry.source);
        now != entry.stamp && !now.empty()) {
      fmt::print(stderr, "h5bento transfer: '{}' is not what arrived any more, and stays\n",
                 entry.source);
      return {};
    }
  }
  // The master last: as long as it is there, somebody can find the others.
  for (std::size_t i = entries.size(); i-- > 0;) {
    if (::unlink(entries[i].source.c_str()) != 0 && errno != ENOENT)
      return fail(os_error(errno, "removal from the cache of", entries[i].source));
  }
  return {};
}

}  // namespace

bool is_transient(const Error& error) {
  static const std::set<int> kLater = {ENOSPC, EDQUOT,  EIO,         ESTALE,    ETIMEDOUT, EAGAIN,
                                       EINTR,  ENOMEM,  EMFILE,      ENFILE,    EBUSY,     ENETDOWN,
                                       ENOLCK, ENOLINK, ENETUNREACH, EHOSTDOWN, EREMOTEIO, ETXTBSY};
  return error.code == Code::kBusy || kLater.contains(error.os_errno);
}

std::vector<std::vector<Entry>> group_entries(const std::vector<Entry>& entries) {
  std::vector<std::vector<Entry>> groups;
  for (const auto& entry : entries) {
    const auto same = std::ranges::find_if(groups, [&](const std::vector<Entry>& group) {
      return !entry.container.empty() && group.front().container == entry.container &&
             group.front().ticket == entry.ticket;
    });
    if (same != groups.end())
      same->push_back(entry);
    else
      groups.push_back({entry});
  }
  for (auto& group : groups) std::ranges::sort(group, {}, &Entry::part);
  return groups;
}

Job::Job(std::vector<Entry> entries, const AllowedFolders& allowed, JobOptions options)
    : entries_(std::move(entries)), allowed_(allowed), options_(std::move(options)) {}

std::vector<std::string> Job::names() const {
  if (is_assembled()) return {base_of(entries_.front().destination)};
  std::vector<std::string> all;
  all.reserve(entries_.size());
  for (const auto& entry : entries_) all.push_back(base_of(entry.destination));
  return all;
}

std::vector<std::string> Job::sources() const {
  std::vector<std::string> all;
  all.reserve(entries_.size());
  for (const auto& entry : entries_) all.push_back(entry.source);
  return all;
}

Result<JobEnd> Job::run(Gate& gate, const Report& report) {
  const std::string& master = entries_.front().destination;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    const std::string base = base_of(entry.destination);
    if (base.empty() || base == "." || base == ".." || entry.source.empty() ||
        entry.source.front() != '/')
      return fail(Code::kInvalidArgument, fmt::format("'{}' to '{}': both must be absolute names "
                                                      "of files",
                                                      entry.source, entry.destination));
    if (is_container() &&
        (entry.part != i || entry.container != master || entry.arrive != entries_.front().arrive ||
         entry.destination != (is_assembled() ? master : physical_name(master, entry.part))))
      return fail(Code::kInvalidArgument,
                  fmt::format("the entries for the container '{}' do not belong together: '{}' "
                              "stands where part {} must be; submit it again",
                              entry.container, entry.destination, i));
  }
  if (is_assembled() && !is_container())
    return fail(Code::kUnsupported, fmt::format("'{}' is no container: it cannot arrive as {}",
                                                entries_.front().source, entries_.front().arrive));
  if (entries_.front().ticket.empty()) entries_.front().ticket = new_ticket();
  BENTO_TRY(check_folder_is_there());
  BENTO_ASSIGN(Descriptor folder, allowed_.open(folder_of(master)));
  BENTO_ASSIGN(Descriptor again, open_at(folder.get(), ".", 0, 0, folder_of(master)));
  BENTO_ASSIGN(WorkFolder work, WorkFolder::open(std::move(again), master));
  const std::string id = is_shared() ? id_of_copy(entries_.front().source) : std::string{};
  BENTO_ASSIGN(const JobEnd end, run_in(work, folder.get(), gate, report));
  if (end == JobEnd::kDone) {
    PartsFolder::remove_others(folder.get(), master, id);
    if (!id.empty() && is_assembled()) PartsFolder::tell_arrived(folder.get(), master, id);
    if (!id.empty() && !is_assembled()) PartsFolder::remove(folder.get(), master, id);
    BENTO_TRY(work.remove());
  }
  if (end == JobEnd::kGone || end == JobEnd::kOutdated) BENTO_TRY(work.abandon());
  return end;
}

Result<JobEnd> Job::run_in(WorkFolder& work, int folder, Gate& gate, const Report& report) {
  if (work.complete() != entries_.front().ticket) {
    if (!work.complete().empty()) BENTO_TRY(work.discard());
    BENTO_TRY(check_lies_in_cache());
    BENTO_ASSIGN(const Source source, Source::open(sources(), is_container()));
    BENTO_TRY(source.check_is_none_of(folder, names()));
    BENTO_ASSIGN(const bool wanted, report(entries_));
    if (!wanted) return JobEnd::kGone;
    BENTO_ASSIGN(const JobEnd copied,
                 is_shared()      ? gather_shares(source, work, folder, gate, report)
                 : is_assembled() ? assemble(source, entries_.front().source, work, gate, report)
                                  : copy_all(source, work, gate, report));
    if (copied != JobEnd::kDone) return copied;
    if (auto same = source.unchanged(); !same) {
      BENTO_TRY(begin_anew(work, source, report));
      return fail(std::move(same).error());
    }
    if (is_container() && options_.verify && arrives_as_container()) {
      BENTO_ASSIGN(const JobEnd verified, verify_copy(work, folder, gate, report));
      if (verified != JobEnd::kDone) return verified;
      if (auto same = source.unchanged(); !same) {
        BENTO_TRY(begin_anew(work, source, report));
        return fail(std::move(same).error());
      }
    }
    BENTO_ASSIGN(const auto outdated, outdated_parts(folder, names()));
    if (entries_.front().evict && !entries_.front().cached) {
      for (std::size_t i = 0; i < entries_.size(); ++i) entries_[i].stamp = source.stamp(i);
      BENTO_ASSIGN(const bool still_wanted, report(entries_));
      if (!still_wanted) return JobEnd::kGone;
    }
    BENTO_TRY(work.set_complete(entries_.front().ticket, names(), outdated));
  }
  BENTO_ASSIGN(const bool wanted, report(entries_));
  if (!wanted) return JobEnd::kGone;
  BENTO_TRY(finish(work, folder, report));
  return JobEnd::kDone;
}

// A program that writes through a cache had the folder, and its note was there.
Status Job::check_folder_is_there() const {
  const Entry& master = entries_.front();
  const std::string folder = folder_of(master.destination);
  if (!master.cached || ::access(folder.c_str(), F_OK) == 0 || errno != ENOENT) return {};
  return fail(Code::kNotFound,
              fmt::format("the folder '{}' is gone. If it was renamed: h5bento transfer submit "
                          "'NEW-NAME/{}'. The container stays in the cache, as '{}'",
                          folder, base_of(master.destination), master.source));
}

// A program may have filled the cache since it was submitted, and died.
Status Job::check_lies_in_cache() const {
  const Entry& master = entries_.front();
  if (!master.cached || !needs_finish(master.source)) return {};
  return fail(Code::kUnsupported,
              fmt::format("'{}' is only a part: the cache was full, and the rest lies beside '{}'. "
                          "To bring both together: h5bento transfer submit '{}'",
                          master.source, master.destination, master.destination));
}

Result<JobEnd> Job::copy_all(const Source& source, WorkFolder& work, Gate& gate,
                             const Report& report) {
  for (std::size_t index = 0; index < entries_.size(); ++index) {
    Entry& entry = entries_[index];
    // SCR's library says how much of a file it wants; a container is copied as it is now.
    if (is_container() && entry.size != source.size(index)) {
      entry.size = source.size(index);
      entry.written = std::min(entry.written, entry.size);
    }
    if (source.size(index) < entry.size)
      return fail(Code::kCorrupt,
                  fmt::format("source '{}' has {} bytes, of {} that are to be copied", entry.source,
                              source.size(index), entry.size));
  }
  // The master last, as its name comes last.
  for (std::size_t index = entries_.size(); index-- > 0;) {
    BENTO_ASSIGN(const JobEnd end, copy_one(index, source, work, gate, report));
    if (end != JobEnd::kDone) return end;
  }
  return JobEnd::kDone;
}

Result<JobEnd> Job::copy_one(std::size_t index, const Source& source, WorkFolder& work, Gate& gate,
                             const Report& report) {
  Entry& entry = entries_[index];
  const std::string name = base_of(entry.destination);
  BENTO_ASSIGN(const Descriptor target, work.open_copy(name));
  SparseCopy copy(source.descriptor(index), entry.source, target.get(), work.copy_path(name),
                  entry.size);
  BENTO_ASSIGN(const bool compared, copy.resume(entry.written, gate));
  if (!compared) return JobEnd::kStopped;
  bool gone = false;
  Status changed;
  BENTO_ASSIGN(const bool whole, copy.copy(gate, [&](std::uint64_t durable) -> Result<bool> {
    // All of it is reported only when it has its name: SCR takes that for complete.
    entry.written = entry.size > 0 ? std::min(durable, entry.size - 1) : 0;
    entry.problem.clear();
    BENTO_ASSIGN(const bool wanted, report(entries_));
    gone = !wanted;
    changed = source.unchanged();
    return wanted && changed.has_value();
  }));
  if (gone) return JobEnd::kGone;
  if (!changed) {
    BENTO_TRY(begin_anew(work, source, report));
    return fail(std::move(changed).error());
  }
  if (!whole) return JobEnd::kStopped;
  BENTO_TRY(work.set_permissions(target.get(), name, names().front(), source.mode(index)));
  return JobEnd::kDone;
}

Status Job::begin_anew(WorkFolder& work, const Source& /*source*/, const Report& report) {
  for (auto& entry : entries_) entry.written = entry.made = 0;
  BENTO_TRY(work.discard());
  if (auto told = report(entries_); !told) return fail(std::move(told).error());
  return {};
}

Result<JobEnd> Job::verify_copy(WorkFolder& work, int folder, Gate& gate, const Report& report) {
  bool stopped = false;
  auto verdict = verify_container(work.copy_path(names().front()), gate, stopped);
  if (stopped) return JobEnd::kStopped;
  if (verdict) return JobEnd::kDone;
  if (verdict.error().code != Code::kCorrupt) return fail(std::move(verdict).error());
  if (is_shared()) {
    if (auto again = bring_all_again(work, folder, report); !again)
      return fail(std::move(again).error().with_context(verdict.error().text));
    Error error = std::move(verdict).error().with_context("the shares are brought once more");
    error.os_errno = EIO;
    return fail(std::move(error));
  }
  // Was it the way, or was it so before?
  auto before = verify_container(entries_.front().source, gate, stopped);
  if (stopped) return JobEnd::kStopped;
  if (!before)
    return fail(std::move(before).error().with_context("the source is damaged, and not copied"));
  for (auto& entry : entries_) entry.written = 0;
  BENTO_TRY(work.discard());
  if (auto told = report(entries_); !told) return fail(std::move(told).error());
  Error error = std::move(verdict).error().with_context("the copy differs, and is made anew");
  error.os_errno = EIO;
  return fail(std::move(error));
}

Result<ArrivedDataset> Job::arrived_dataset(int folder) const {
  ArrivedDataset dataset{names().front(), names().size(), 0, entries_.front().ticket};
  for (const auto& entry : entries_) dataset.bytes += entry.size;
  if (!is_assembled() && !is_shared()) return dataset;
  dataset.bytes = 0;
  for (const auto& name : names()) {
    struct stat about{};
    if (::fstatat(folder, name.c_str(), &about, 0) != 0)
      return fail(os_error(errno, "stat of", entries_.front().destination));
    dataset.bytes += static_cast<std::uint64_t>(about.st_size);
  }
  return dataset;
}

// The file has arrived all the same where SCR's files are another user's, or something else has
// their names.
Status Job::record(int folder, const ArrivedDataset& dataset) const {
  auto recorded = record_arrival(folder, folder_of(entries_.front().destination), dataset);
  if (recorded || is_transient(recorded.error())) return recorded;
  fmt::print(stderr, "h5bento transfer: '{}' has arrived, and is not recorded for SCR: {}\n",
             entries_.front().destination, recorded.error().text);
  return {};
}

Status Job::finish(WorkFolder& work, int folder, const Report& report) {
  std::optional<CacheFolder> held;
  if (entries_.front().cached && !work.all_named(names())) {
    BENTO_ASSIGN(held, hold_wanted(entries_.front()));
  }
  BENTO_TRY(work.name_all(names()));
  held.reset();
  const Entry& master = entries_.front();
  if (is_container() && options_.scr_files) {
    BENTO_ASSIGN(const ArrivedDataset dataset, arrived_dataset(folder));
    BENTO_TRY(record(folder, dataset));
  }
  for (auto& entry : entries_) {
    entry.written = entry.size;
    entry.named = true;
    entry.problem.clear();
  }
  auto told = report(entries_);
  if (!told) return fail(std::move(told).error());
  if (!*told) return master.cached ? renew_note(master) : Status{};
  if (master.cached) BENTO_TRY(settle_copy(master));
  return remove_sources(entries_);
}

}  // namespace bento::transfer
