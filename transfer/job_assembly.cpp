// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "transfer/gated_files.hpp"
#include "transfer/job.hpp"
#include "transfer/made.hpp"
#include "transfer/shown_error.hpp"

namespace bento::transfer {
namespace {

void report_done(std::vector<Entry>& entries, const AssemblyProgress& progress) {
  for (Entry& entry : entries) entry.problem.clear();
  share_out(entries, progress.done, progress.total);
  if (!progress.source_done) return;
  const auto done = progress.source_done();
  for (std::size_t index = 0; index < entries.size() && index < done.size(); ++index)
    entries[index].written = not_all(entries[index], done[index]);
}

/// Nothing if its records have to be written anew, which the daemon says.
Result<std::optional<OneFileContainer>> as_one_file(const std::string& path,
                                                    const std::string& destination) {
  BENTO_ASSIGN(Survey survey, Survey::open(path));
  auto one = OneFileContainer::of(survey);
  if (one) return std::optional(std::move(*one));
  if (one.error().code != Code::kUnsupported) return fail(std::move(one).error());
  const Root& root = survey.root();
  if (root.step > root.oldest)
    return fail(Code::kUnsupported,
                fmt::format("'{}' cannot be brought into one file as it is: {}. Written anew it "
                            "would have the newest step only, and it keeps steps {} to {}: let it "
                            "arrive as container",
                            path, one.error().text, root.oldest, root.step));
  fmt::print(stderr, "h5bento transfer: '{}' is written anew as one file: {}\n", destination,
             one.error().text);
  return std::optional<OneFileContainer>();
}

}  // namespace

// What is at the destination is believed if source and target are those of which the journal
// speaks.
Result<std::unique_ptr<AssemblyJournal>> Job::open_journal(const Source& source, WorkFolder& work) {
  const std::string name = names().front();
  const auto open = [&]() -> Result<std::unique_ptr<AssemblyJournal>> {
    BENTO_ASSIGN(const Descriptor target, work.open_copy(name));
    BENTO_TRY(work.keep_copies());
    struct stat about{};
    if (::fstat(target.get(), &about) != 0)
      return fail(os_error(errno, "fstat of", work.copy_path(name)));
    BENTO_ASSIGN(auto file, work.open_journal());
    return AssemblyJournal::open(std::move(file),
                                 fmt::format("{} {} {}{}", entries_.front().arrive, about.st_ino,
                                             source.state_text(), source.files_text()));
  };
  auto journal = open();
  if (journal && (*journal)->begun()) return journal;
  // Something else may have been begun here, and may take all the space.
  BENTO_TRY(work.discard());
  return open();
}

Result<JobEnd> Job::assemble(const Source& source, const std::string& path, WorkFolder& work,
                             Gate& gate, const Report& report) {
  const Entry& master = entries_.front();
  BENTO_ASSIGN(const Arrive arrive, arrive_of(master.arrive));
  BENTO_TRY(check_can_arrive(master.source, arrive));
  if (arrive == Arrive::kOneFile) {
    BENTO_ASSIGN(const auto one, as_one_file(path, master.destination));
    if (one) return bring_streams(*one, source, work, gate, report);
  }
  if (!options_.assemble)
    return fail(Code::kUnsupported,
                fmt::format("'{}' cannot arrive as {}: this program was built without HDF5",
                            master.source, master.arrive));
  std::unique_ptr<AssemblyJournal> journal;
  if (arrive == Arrive::kNative) {
    BENTO_ASSIGN(journal, open_journal(source, work));
  } else {
    BENTO_TRY(work.discard());
  }
  const bool goes_on = journal != nullptr && journal->begun();
  for (std::size_t index = 0; index < entries_.size(); ++index) {
    Entry& entry = entries_[index];
    entry.size = source.size(index);
    if (!goes_on || entry.written >= entry.size) entry.written = 0;
    if (!goes_on) entry.made = 0;
  }
  entries_.front().root = source.state_text();
  BENTO_ASSIGN(const bool wanted, report(entries_));
  if (!wanted) return JobEnd::kGone;
  BENTO_ASSIGN(const JobEnd made,
               assemble_whole(arrive, journal.get(), source, path, work, gate, report));
  if (made != JobEnd::kStopped || journal) return made;
  // The next one begins anew; what is there so far would be in its way, and takes space.
  BENTO_TRY(begin_anew(work, source, report));
  return made;
}

Result<JobEnd> Job::assemble_whole(Arrive arrive, AssemblyJournal* journal, const Source& source,
                                   const std::string& path, WorkFolder& work, Gate& gate,
                                   const Report& report) {
  const std::string name = names().front();
  const std::string at = work.open_path(name);
  bool gone = false;
  Status changed;
  AssemblyProgress progress;
  GatedFiles files(gate, [&]() -> Result<bool> {
    if (journal != nullptr) BENTO_TRY(journal->store());
    // Of a file that goes on, it stays what it was until it is known how far it is.
    if (journal == nullptr || progress.source_done || !journal->begun())
      report_done(entries_, progress);
    BENTO_ASSIGN(const bool wanted, report(entries_));
    gone = !wanted;
    changed = source.unchanged();
    return wanted && changed.has_value();
  });
  const Assembly assembly{arrive, path, at, name, files.opener(), journal, &progress};
  Status made = options_.assemble(assembly);
  if (gone) return JobEnd::kGone;
  if (changed) changed = source.unchanged();
  if (changed && files.stopped()) return JobEnd::kStopped;
  if (made && files.failure()) made = fail(*files.failure());
  if (made && changed) {
    BENTO_ASSIGN(const Descriptor target, work.open_copy(name));
    BENTO_TRY(work.set_permissions(target.get(), name, name, source.mode(0)));
    BENTO_TRY(sync(target.get(), work.copy_path(name)));
    return JobEnd::kDone;
  }
  const bool goes_on = journal != nullptr && changed &&
                       is_transient(files.failure() ? *files.failure() : made.error());
  if (!goes_on) BENTO_TRY(begin_anew(work, source, report));
  if (!changed) return fail(std::move(changed).error());
  // What the file said is what may be tried again; HDF5 hands on less.
  Error why = files.failure() ? *files.failure() : made.error();
  if (journal != nullptr) why = readable(std::move(why), journal->path(), work.journal_path());
  return fail(readable(std::move(why), at, work.copy_path(name)));
}

}  // namespace bento::transfer
