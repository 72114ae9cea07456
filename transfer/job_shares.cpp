// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A container that comes together from the caches of several nodes, on the node of rank 0. Source:
/// docs/transfer.md, "Caches on several nodes".
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/layout/plan.hpp"
#include "transfer/cache_folder.hpp"
#include "transfer/job.hpp"
#include "transfer/share.hpp"
#include "transfer/share_job.hpp"

namespace bento::transfer {

namespace {

/// Last parts of the names of all physical files.
std::vector<std::string> part_names(const std::vector<Entry>& entries) {
  std::vector<std::string> all;
  for (const auto& entry : entries)
    all.push_back(base_of(physical_name(entry.container, entry.part)));
  return all;
}

}  // namespace

// The share of this node, and then those of the others.
Result<JobEnd> Job::await_shares(PartsFolder& parts, Gate& gate, const Report& report) {
  if (!parts.complete(0)) {
    BENTO_ASSIGN(const JobEnd end, bring_share(entries_, parts, gate, report));
    if (end != JobEnd::kDone) return end;
  }
  const std::uint32_t shares = entries_.front().shares;
  const auto missing = parts.missing(shares);
  if (missing.empty()) return JobEnd::kDone;
  constexpr std::ptrdiff_t kNamed = 8;
  const std::string problem = fmt::format(
      "'{}' waits for {} of its {} shares, which other nodes have: {}{}",
      entries_.front().container, missing.size(), shares,
      fmt::join(missing.begin(), missing.begin() + std::min(std::ssize(missing), kNamed), ", "),
      std::ssize(missing) > kNamed ? ", ..." : "");
  return wait_saying(entries_, problem, report);
}

// Nobody writes to the files any more. What a share ends with may be zeros, which were not brought.
Status Job::set_lengths(PartsFolder& parts, WorkFolder& work, const Source& source) {
  BENTO_ASSIGN(const auto lengths, parts.lengths(entries_.front().shares));
  const auto names = part_names(entries_);
  for (std::size_t index = 0; index < names.size(); ++index) {
    BENTO_ASSIGN(const Descriptor file,
                 is_assembled() ? parts.open_part(names[index]) : work.open_copy(names[index]));
    const std::string shown =
        is_assembled() ? parts.part_path(names[index]) : work.copy_path(names[index]);
    const auto bytes = lengths.find(entries_[index].part);
    struct stat about{};
    // Longer it is if an earlier job has begun to build a view.
    if (::fstat(file.get(), &about) != 0 || bytes == lengths.end() ||
        (static_cast<std::uint64_t>(about.st_size) < bytes->second &&
         ::ftruncate(file.get(), static_cast<off_t>(bytes->second)) != 0))
      return fail(os_error(errno, "setting length of", shown));
    BENTO_TRY(work.set_permissions(file.get(), names[index], names.front(), source.mode(index)));
    BENTO_TRY(sync(file.get(), shown));
  }
  return {};
}

Result<JobEnd> Job::gather_shares(const Source& source, WorkFolder& work, int folder, Gate& gate,
                                  const Report& report) {
  BENTO_ASSIGN(const bool outdated, drop_if_outdated(entries_.front(), folder));
  if (outdated) return JobEnd::kOutdated;
  BENTO_ASSIGN(PartsFolder parts, PartsFolder::make(folder, entries_.front().container,
                                                    id_of_copy(entries_.front().source)));
  BENTO_ASSIGN(const JobEnd there, await_shares(parts, gate, report));
  if (there != JobEnd::kDone) return there;
  const auto names = part_names(entries_);
  if (!is_assembled())
    if (auto taken = work.take_over(parts.files(), names); !taken) {
      if (taken.error().os_errno == ENOENT) BENTO_TRY(bring_all_again(work, folder, report));
      return fail(std::move(taken).error());
    }
  BENTO_TRY(set_lengths(parts, work, source));
  if (!is_assembled()) {
    BENTO_TRY(make_view(work, share_of_copy(entries_.front().source).view));
    return JobEnd::kDone;
  }
  std::vector<std::string> paths;
  for (const auto& name : names) paths.push_back(parts.part_path(name));
  BENTO_ASSIGN(const Source whole, Source::open(paths, true));
  auto made = assemble(whole, paths.front(), work, gate, report);
  if (!made && made.error().code == Code::kCorrupt) {
    if (auto again = bring_all_again(work, folder, report); !again)
      return fail(std::move(again).error().with_context(made.error().text));
    return fail(Code::kBusy, made.error().text + "; the shares are brought once more", EBUSY);
  }
  return made;
}

// Of what comes from several nodes none could make it: each reads what its own ranks have written.
Status Job::make_view(WorkFolder& work, const ViewWish& wish) {
  if (!wish.wanted || !options_.make_view) return {};
  auto made = options_.make_view(work.copy_path(names().front()), wish);
  // What is damaged, the verification finds and names.
  if (!made && is_transient(made.error())) return made;
  if (!made)
    fmt::print(stderr, "h5bento transfer: '{}' arrives without a native view: {}\n",
               entries_.front().destination, made.error().text);
  for (const auto& name : names()) {
    BENTO_ASSIGN(const Descriptor file, work.open_copy(name));
    BENTO_TRY(sync(file.get(), work.copy_path(name)));
  }
  return {};
}

// All nodes bring their shares once more. Errors: kIo; kCorrupt if that was done before.
Status Job::bring_all_again(WorkFolder& work, int folder, const Report& report) {
  const Entry& master = entries_.front();
  BENTO_ASSIGN(PartsFolder parts,
               PartsFolder::make(folder, master.container, id_of_copy(master.source)));
  BENTO_TRY(work.discard());
  BENTO_ASSIGN(const bool before, parts.begin_again());
  for (auto& entry : entries_) entry.written = entry.made = 0;
  if (auto told = report(entries_); !told) return fail(std::move(told).error());
  if (!before) return {};
  return fail(Code::kCorrupt,
              fmt::format("'{}' does not come together from its {} shares, and did not before",
                          master.container, master.shares));
}

}  // namespace bento::transfer
